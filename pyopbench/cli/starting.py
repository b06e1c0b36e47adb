"""Writes the file of an own op to start from, and a C++ kernel beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pyopbench.model.discover import find
from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_new

TEMPLATES = Path(__file__).parent / "starting_files"


def start_op(path: Path, *, kernel: bool = False) -> list[Path]:
    """Write a commented op file that runs as it stands; with `kernel` a C++ kernel of the same name too.

    Args:
        path: the new file, whose name is the op's.
        kernel: also write the kernel.

    Returns:
        The files that were written.

    Raises:
        BadInput: the name is none for an op, another op has it, or a file is there already.
    """
    name = path.stem
    if path.suffix != ".py" or not re.fullmatch("[a-z][a-z0-9_]*", name) or name in find("ops"):
        raise BadInput(
            "not a valid file name for a new op",
            received=path,
            legal="NAME.py, with lower-case letters, digits and underscores, and not the name of a built-in op",
            hint="for example pyopbench new op my_op.py",
        )
    texts = {path: _filled("op.py", name, kernel=kernel)}
    if kernel:
        texts[path.with_suffix(".cc")] = _filled("op.cc", name, kernel=kernel)
    there = [one for one in texts if os.path.lexists(one)]
    if there:
        raise BadInput(
            "the file already exists",
            received=there[0],
            legal="a file that does not exist yet",
            hint="choose another name, or move the file away",
        )
    for one, text in texts.items():
        write_new(one, text.encode())
    return list(texts)


def _filled(template: str, name: str, *, kernel: bool) -> str:
    text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    words = {"NAME": name, "KIND": "".join(word.capitalize() for word in name.split("_"))}
    line = (
        '    kernel="%s.cc",  # compiled on first use'
        if kernel
        else '    # kernel="%s.cc",  # `pyopbench new op --kernel`'
    )
    words["KERNEL"] = line % name
    return re.sub(r"@(\w+)@", lambda match: words[match[1]], text)

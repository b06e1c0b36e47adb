"""`pyopbench new`, `port` and `build`: an op file to start from, a port as source with its test, compiled kernels."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine.port import write_port
from pyopbench.engine.worker_process import ask_once
from pyopbench.judge.ports import notes_text
from pyopbench.model.discover import find, read_ops, require_known
from pyopbench.model.errors import BadInput
from pyopbench.model.write_file import write_new


def new_op(path: Path, *, kernel: bool) -> None:
    """Write a commented op file that runs as it is, for you to fill in."""
    for written in start_op(path, kernel=kernel):
        out.print(f"written: {escape(str(written))}", soft_wrap=True)
    out.print("replace its body and inputs with yours, then run:")
    for command in ("verify", "run --quick"):
        name, *options = command.split()
        out.print(f"  pyopbench {escape(shlex.join([name, str(path), *options]))}", soft_wrap=True)


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
            hint="use NAME.py, with lower-case letters, digits and underscores, and not the name of a built-in op; "
            "for example pyopbench new op my_op.py",
        )
    texts = {path: _filled("op.py", name, kernel=kernel)}
    if kernel:
        texts[path.with_suffix(".cc")] = _filled("op.cc", name, kernel=kernel)
    there = [one for one in texts if os.path.lexists(one)]
    if there:
        raise BadInput(
            "the file already exists",
            received=there[0],
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


def port(
    *, op: str, to: str, out_path: Path, inputs: Sequence[str], seed_with: str, test_timeout_seconds: float
) -> None:
    """Write a port of your op as source code, with a test against the old function."""
    _, own = read_ops([op], inputs, seed_with)
    if not own:
        raise BadInput(
            "only your own ops can be ported",
            received=op,
            hint="name my_op.py, my_module.py:function or package.module:function; "
            "the sources of built-in ops are in pyopbench/ops/builtin/",
        )
    with err.status("writing and testing the port"):
        written = write_port(own.targets[0], to, out_path, test_timeout_seconds)
    for path in (written.port, written.test):
        out.print(f"written: {escape(str(path))}", soft_wrap=True)
    say(escape(f"tested without pyopbench: {', '.join(written.passed)}"))
    for note in notes_text(written):
        say(escape(note), err)
    if written.dataset:
        out.print(escape(f"call it in a pipeline: {written.dataset}"), soft_wrap=True)
    out.print(f"run its test: {escape(shlex.join([_python(), str(written.test)]))}", soft_wrap=True)


def _python() -> str:
    """Return the Python that runs this, as a shell in the current folder takes it; no environment has to be active."""
    here = Path(sys.executable)
    found = shutil.which("python")
    if found is not None and Path(found).absolute() == here.with_name("python"):
        return "python"
    return str(here.relative_to(Path.cwd())) if here.is_relative_to(Path.cwd()) else str(here)


EXIT_REFUSED = 1


def build(ops: Sequence[str], *, as_json: bool) -> int:
    """Compile the C++ kernels ahead of a run, for the installed TensorFlow."""
    names, own = read_ops(ops, ())
    require_known("op", names, {*find("ops"), *own})
    with err.status("compiling"):
        answer = ask_once({"do": "build", "ops": names}, own=own)
    if as_json:
        out.print_json(json.dumps(answer))
    else:
        _print_libraries(answer)
    return EXIT_REFUSED if answer["reasons"] or answer["gpu"]["reasons"] else 0


def _print_libraries(answer: dict[str, Any]) -> None:
    on_gpu = answer["gpu"]
    print_table("Kernels", ("op", "library"), _library_rows(answer))
    if not on_gpu["reason"]:
        print_table("CUDA kernels", ("op", "library"), _library_rows(on_gpu))
    libraries = (*answer["libraries"].values(), *on_gpu["libraries"].values())
    for folder in sorted({str(Path(path).parent) for path in libraries}):
        out.print(f"in {folder}", soft_wrap=True, markup=False)
    if on_gpu["reason"]:
        say(escape(f"no CUDA kernels: {on_gpu['reason']}"))


def _library_rows(compiled: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(name, Path(path).name) for name, path in compiled["libraries"].items()]
    rows += [(name, f"does not compile: {reason}") for name, reason in compiled["reasons"].items()]
    rows += [(name, "no kernel") for name in compiled["without"]]
    return sorted(rows)

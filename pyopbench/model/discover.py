"""What there is to choose from, read off the names of files, so that a wrong name is answered without TensorFlow.

Besides the package's own folders `ops/` and `variants/`, those of every folder in the environment variable
PYOPBENCH_PATH are searched, so that a team's ops and variants need not live inside the package.
"""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import LEGAL, Target, bring, brought, is_target, read_target

PACKAGE = Path(__file__).parent.parent
OPS = PACKAGE / "ops"
"""The folder of built-in ops, variants and kernels."""

BUILTIN = OPS / "builtin"
"""The folder of the files of built-in ops."""

WORKER = PACKAGE / "worker"
"""The measuring process."""

PROBES = WORKER / "probes" / "table.py"
"""The table of probes, whose names are read off it."""

PATH_VARIABLE = "PYOPBENCH_PATH"
CONTROLS = OPS / "controls"
"""A folder for that variable: variants whose difference from another one is known, for `pyopbench certify`."""

KERNELS = OPS / "kernels"
"""The folder of the C++ sources of custom ops."""

RESERVED = {"ops": "floor", "variants": "parts"}
"""Folders of the package whose names nothing else of the kind may have, because both are found by the same name."""


def find(kind: str) -> dict[str, Path]:
    """Return the files that hold ops or variants, by name, in alphabetical order.

    Args:
        kind: `ops`, `variants`, or one of the package's own folders `floor` and `parts`: the name of the folder.

    Raises:
        BadInput: two files have the same name, or a folder of the variable does not exist.
    """
    others = [Path(part) for part in os.environ.get(PATH_VARIABLE, "").split(os.pathsep) if part]
    for folder in others:
        if not folder.is_dir():
            raise BadInput(
                f"{PATH_VARIABLE} contains a path that is not a folder",
                received=folder,
                legal="folders that contain ops/ or variants/",
                hint=f"fix or unset {PATH_VARIABLE}",
            )
    reserved = {path.stem: path for path in python_files(folder_of(RESERVED[kind]))} if kind in RESERVED else {}
    found: dict[str, Path] = dict(reserved)
    for folder in (folder_of(kind), *(root / kind for root in others if kind in RESERVED)):
        for path in python_files(folder):
            if path.stem in found:
                raise BadInput(
                    f"two files with the same name among the {kind}",
                    received=f"{found[path.stem]} and {path}",
                    legal="one file for each name",
                    hint=f"rename one of them, or take its folder out of {PATH_VARIABLE}",
                )
            found[path.stem] = path
    if kind == "ops":
        found.update((target.name, Path(target.place)) for target in brought().values())
    return dict(sorted((name, path) for name, path in found.items() if name not in reserved))


def folder_of(kind: str) -> Path:
    """Return the folder of the package that has the files of a kind, as in `find`."""
    if kind == "ops":
        return BUILTIN
    return OPS / kind


def find_probes() -> list[str]:
    """Return the names of the probes, in alphabetical order: the keys of the table in `PROBES`."""
    tree = ast.parse(PROBES.read_text(encoding="utf-8"))
    tables = (node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict))
    return sorted(str(ast.literal_eval(key)) for table in tables for key in table.keys if key is not None)


def bring_own(texts: Iterable[str], inputs: Sequence[str], seed_with: str = "") -> list[str]:
    """Return the names of ops, and have own ops among them found by theirs from here on.

    Args:
        texts: names, or what names an own op, as typed.
        inputs: examples of the arguments of a function, which then has to be the only own op.
        seed_with: a statement that seeds what the body of the only own op draws from.

    Raises:
        BadInput: an own op cannot be what is measured, or inputs are given for none.
    """
    bring([])
    targets: list[Target] = []
    names = []
    for text in texts:
        place, dot, function = text.rpartition(".")
        if dot and not is_target(text):
            raise BadInput(
                "op names have no dots; write a colon before the function of a file or module",
                received=repr(text),
                legal=LEGAL,
                hint=f"did you mean {place}:{function}?",
            )
        if is_target(text):
            taken = [*find("ops"), *find("floor"), *(target.name for target in targets)]
            targets.append(read_target(text, inputs, taken, seed_with))
        names.append(targets[-1].name if is_target(text) else text)
    if inputs and len(targets) != 1:
        raise BadInput(
            "--input is for one function",
            received=f"--input with {', '.join(target.text for target in targets) or 'no function'}",
            legal="my_module.py:function --input EXPR",
            hint="name one function, and give one --input for each of its arguments",
        )
    if seed_with and len(targets) != 1:
        raise BadInput(
            "--seed-with is for one op of your own",
            received=f"--seed-with with {', '.join(target.text for target in targets) or 'no such op'}",
            legal="my_op.py, or my_module.py:function --input EXPR",
            hint="name one op",
        )
    bring(targets)
    return names


def python_files(folder: Path) -> list[Path]:
    """Return a folder's Python files without those that begin with an underscore, sorted."""
    return sorted(path for path in folder.glob("*.py") if not path.stem.startswith("_"))


def require_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that every name is known.

    Raises:
        BadInput: with the nearest known names.
    """
    legal = sorted(known)
    for name in names:
        if name not in legal:
            near = difflib.get_close_matches(name, legal, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "`pyopbench list` shows what there is"
            raise BadInput(f"unknown {kind}", received=repr(name), legal=", ".join(legal), hint=hint)

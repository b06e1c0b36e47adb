"""What there is to choose from, read off files that are not run, so that a wrong name is answered without TensorFlow.

A file defines what it is named after, as its `OP` or `VARIANT`; or several, as the keys of its table `OPS` or
`VARIANTS`.

Besides the package's own folders `ops/` and `variants/`, those of every folder in the environment variable
PYOPBENCH_PATH are searched: for the controls of `pyopbench certify`.
"""

from __future__ import annotations

import ast
import difflib
import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps, Target, is_target, own_ops, read_target

PACKAGE = Path(__file__).parent.parent
OPS = PACKAGE / "ops"
"""The folder of built-in ops, variants and kernels."""
BUILTIN, KERNELS = OPS / "builtin", OPS / "kernels"
"""The folders of the files of built-in ops, and of the C++ sources of custom ops."""
PATH_VARIABLE = "PYOPBENCH_PATH"
CONTROLS = OPS / "controls"
"""A folder for that variable: variants whose difference from another one is known, for `pyopbench certify`."""
PLACES = {"ops": BUILTIN, "variants": OPS / "variants"}
"""Kind -> the folder in the package with its files."""
OBJECTS = {"ops": "OP", "variants": "VARIANT"}
"""Kind -> what a file calls the one that it defines; with an s, the table of several."""


def find(kind: str) -> dict[str, Path]:
    """Return the files that define what there is of a kind (a key of `PLACES`), by name, in alphabetical order."""
    folders = [Path(part) / kind for part in os.environ.get(PATH_VARIABLE, "").split(os.pathsep) if part]
    files = [path for place in (PLACES[kind], *folders) for path in place.glob("[!_]*.py")]
    found: dict[str, Path] = {}
    for path in files:
        for name in _names_in(path, kind):
            if found.setdefault(name, path) != path:
                received = f"{found[name]} and {path}"
                raise BadInput(f"two files define the {kind} {name}", received=received, hint="give one another name")
    return dict(sorted(found.items()))


@cache
def _names_in(path: Path, kind: str) -> Sequence[str]:
    """Return the names that a file defines: the keys of its table, or its own name if it has none."""
    table = f"{OBJECTS[kind]}S"
    try:
        statements = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return (path.stem,)  # loading it raises an error
    for statement in statements:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict(keys=keys))
            ) if name == table:
                return tuple(str(ast.literal_eval(key)) for key in keys if key is not None)
    return (path.stem,)


def read_ops(texts: Iterable[str], inputs: Sequence[str], seed_with: str = "") -> tuple[list[str], OwnOps]:
    """Return the names of ops, and the own ops among them, from what is typed.

    `inputs` are examples of the arguments of a function, which then has to be the only own op; so with `seed_with`.
    """
    targets: list[Target] = []
    names = []
    for text in texts:
        if is_target(text):
            taken = [*find("ops"), *(target.name for target in targets)]
            targets.append(read_target(text, inputs, taken, seed_with))
        names.append(targets[-1].name if is_target(text) else text)
    if (inputs or seed_with) and len(targets) != 1:
        raise BadInput(
            "--input and --seed-with are for one op of your own",
            received=", ".join(target.text for target in targets) or "no such op",
            hint="name one function, my_module.py:function --input EXPR; or for --seed-with one file, my_op.py",
        )
    return names, own_ops(*targets)


def require_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Check that every name is known, or refuse it with the nearest known names."""
    legal = sorted(known)
    for name in names:
        if name not in legal:
            near = difflib.get_close_matches(name, legal, n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(near)}?" if near else "choose one of these"
            raise BadInput(f"unknown {kind}", received=repr(name), legal=", ".join(legal), hint=hint)

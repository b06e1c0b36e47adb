"""What the suite measures: its parameters, read off the sources of ops, so that asv finds them without TensorFlow.

The files are those next to this suite, not of the pyopbench that a commit installs: asv hands a process the number of
a combination, which has to mean the same for every commit that is measured.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

Parameters: TypeAlias = tuple[Sequence[str | int], ...]

VARIABLE = "PYOPBENCH_ASV"
"""Set to `all`, the environment variable adds every op, variant and size; `asv run --bench` then chooses among them."""
ALL = "all"

PARAM_NAMES = ("op", "variant", "size")
PLACED_NAMES = (*PARAM_NAMES, "placement")
ROUTE_NAMES = ("op", "variant", "inputs", "result")
THREAD_NAMES = (*PARAM_NAMES, "threads")

OPS = ("relu", "sinh")
"""One that costs next to nothing, so that a call is all overhead, and one with a transcendental."""
VARIANTS = ("native", "numba_op", "numpy_function", "py_function_numpy")
SIZES = (1_000, 100_000)
ALL_SIZES = (1, 1_000, 100_000, 1_000_000)

PLACEMENTS = ("cpu", "gpu")
"""Where a case runs; without a GPU the second is skipped, and asv shows `n/a`."""

ROUTE_OPS = ("sinh",)
PLACES = ("host", "device")
"""Where the inputs of a call are, and where its result is used."""

THREAD_OPS = ("sinh",)
THREAD_SIZES = (100_000,)
THREADS = (1, 2)
"""Threads that call at once. More than a machine has cores measure waiting for one."""

_SOURCES = Path(__file__).resolve().parents[2] / "pyopbench" / "ops"
_FOLDERS = {"ops": _SOURCES / "builtin", "variants": _SOURCES / "variants"}
_TABLES = {"ops": "OPS", "variants": "VARIANTS"}
"""What a file calls the table of several; a file without one defines what it is named after."""


def ops() -> Parameters:
    """Return the parameters of what measures ops: names of ops, names of variants, sizes."""
    if not _everything():
        return OPS, VARIANTS, SIZES
    return _names("ops"), _names("variants"), ALL_SIZES


def placed() -> Parameters:
    """Return the parameters of what measures ops on each placement."""
    return (*ops(), PLACEMENTS)


def routes() -> Parameters:
    """Return the parameters of what is counted on routes: ops, variants, places of inputs and of results."""
    if not _everything():
        return ROUTE_OPS, VARIANTS, PLACES, PLACES
    return _names("ops"), _names("variants"), PLACES, PLACES


def threaded() -> Parameters:
    """Return the parameters of what several threads call at once: ops, variants, sizes, numbers of threads."""
    if not _everything():
        return THREAD_OPS, VARIANTS, THREAD_SIZES, THREADS
    return _names("ops"), _names("variants"), ALL_SIZES, THREADS


def _everything() -> bool:
    value = os.environ.get(VARIABLE, "")
    if value not in ("", ALL):
        raise ValueError(f"{VARIABLE} is {value!r}; legal: {ALL!r}, or not set; asv's --bench chooses among all")
    return value == ALL


def _names(kind: str) -> tuple[str, ...]:
    files = _FOLDERS[kind].glob("[!_]*.py")
    return tuple(sorted(name for path in files for name in _names_in(path, _TABLES[kind])))


def _names_in(path: Path, table: str) -> tuple[str, ...]:
    """Return what a file defines, as `pyopbench.model.discover` finds it, which another commit may not have."""
    for statement in ast.parse(path.read_bytes()).body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Dict):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(target, ast.Name) and target.id == table for target in targets):
                return tuple(str(ast.literal_eval(key)) for key in statement.value.keys if key is not None)
    return (path.stem,)

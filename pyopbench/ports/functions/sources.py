"""The source of the functions that ports call, and of those that these call."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pyopbench.ports.for_numba
from pyopbench.model.syntax import every_name, read_source
from pyopbench.ports.functions import basics, numerics, order

ON_TENSORS = tuple(str(one.__file__) for one in (basics, numerics, order))
"""Files of functions on tensors, in the order of their definitions in a port."""

FOR_NUMBA = (str(Path(pyopbench.ports.for_numba.__path__[0]) / "helpers.py"),)
"""The file of functions that Numba compiles. It is read and not imported, because it imports Numba."""


@cache
def definitions(files: tuple[str, ...]) -> dict[str, tuple[str, set[str]]]:
    """Return the source of what is defined at the top level of files, and the names in it, by its name."""
    found = {}
    for source in map(read_source, files):
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef | ast.Assign):
                name = node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.targets[0])
                lines = source.text(*source.span(node)).splitlines(keepends=True)
                # A port has no table that its functions are entered into.
                found[name] = "".join(one for one in lines if not one.startswith("@helper(")), every_name(node)
    return found


def source_of(names: Iterable[str], files: tuple[str, ...] = ON_TENSORS) -> dict[str, str]:
    """Return the source of functions and of all that they call, by name, in the order of their files."""
    known, needed, left = definitions(files), set[str](), [*names]
    while left:
        name = left.pop()
        if name in known and name not in needed:
            needed.add(name)
            left += known[name][1]
    return {name: text for name, (text, _) in known.items() if name in needed}

"""The source of functions on tensors, with what they need of each other, as it is written into ports."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import TypeAlias

from pyopbench.model.syntax import read_source
from pyopbench.ports.functions import basics, elementwise, linear, order, shapes, statistics

MODULES: tuple[ModuleType, ...] = (basics, elementwise, order, statistics, linear, shapes)
"""In the order of their definitions in the file of a port."""

Definition: TypeAlias = ast.FunctionDef | ast.Assign


def needed_by(names: Iterable[str]) -> set[str]:
    """Return the names of functions and of all that they call."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            _, node = _definitions()[name]
            left += {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & _definitions().keys()
    return found


def source_of(names: Iterable[str]) -> list[str]:
    """Return the source of functions, by their names, and of all that they call, without our decorators."""
    needed = needed_by(names)
    return [text for name, (text, _) in _definitions().items() if name in needed]


@cache
def _definitions() -> dict[str, tuple[str, Definition]]:
    """Return the text of everything at the top level of the modules that a function may need, by name."""
    found: dict[str, tuple[str, Definition]] = {}
    for module in MODULES:
        source = read_source(str(module.__file__))
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef | ast.Assign):
                _, end = source.span(node)
                name = node.name if isinstance(node, ast.FunctionDef) else ast.unparse(node.targets[0])
                found[name] = source.text(source.starts[node.lineno - 1], end), node
    return found

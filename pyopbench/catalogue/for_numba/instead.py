"""What stands for a piece of source: text with places for parts of that piece."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Instead:
    """The source that stands for a node.

    Attributes:
        text: source in which `{0}`, `{1}`, ... stand for parts; names with an underscore are of `helpers`.
        parts: expressions of the node, or its statements where the text is `BODY`.
    """

    text: str = ""
    parts: list[Any] = field(default_factory=list)

    def part(self, node: ast.expr) -> str:
        """Return what stands for a part in the text."""
        if node not in self.parts:
            self.parts.append(node)
        return f"{{{self.parts.index(node)}}}"

    def receiver(self, node: ast.expr) -> str:
        """Return what stands for a part that something follows which binds more closely than operators."""
        binds = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        return self.part(node) if binds else f"({self.part(node)})"

    def arguments(self, args: list[ast.expr], keywords: list[ast.keyword]) -> str:
        """Return arguments as they are, behind a comma."""
        named = [(f"{one.arg}=" if one.arg else "**") + self.part(one.value) for one in keywords]
        return "".join(f", {one}" for one in (*map(self.part, args), *named))


BODY = "BODY"
"""The text where a statement's own statements stand for it."""

PLACE = re.compile(r"\{(\d+)\}")
"""Where a part stands in a text."""


def helper_names(text: str) -> set[str]:
    """Return the helpers that a text calls."""
    return set(re.findall(r"(?<![\w.])_[a-z]\w*(?=\()", text))


@dataclass(frozen=True)
class Names:
    """What names mean where a node stands.

    Attributes:
        value_of: what a name, or an attribute of one, is in the file; None for what is local.
        lists: local names that are bound to lists.
        parameters: of the function.
    """

    value_of: Callable[[ast.AST], Any]
    lists: frozenset[str]
    parameters: frozenset[str]


def names_in(function: ast.AST, value_of: Callable[[ast.AST], Any]) -> Names:
    """Return what names mean in a function, of which `value_of` knows those that are global."""
    parameters = frozenset(one.arg for one in ast.walk(function) if isinstance(one, ast.arg))
    return Names(value_of, _lists_of(function), parameters)


def _lists_of(node: ast.AST) -> frozenset[str]:
    """Return the names that a function binds to lists, and to nothing else."""
    lists: set[str] = set()
    others: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Assign):
            pairs = [pair for target in one.targets for pair in _pairs(target, one.value)]
            lists |= {name for name, value in pairs if isinstance(value, ast.List | ast.ListComp)}
            others |= {name for name, value in pairs if not isinstance(value, ast.List | ast.ListComp)}
        elif isinstance(one, ast.arg):
            others.add(one.arg)
    return frozenset(lists - others)


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if not isinstance(target, ast.Tuple | ast.List):
        return []
    if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
        return [pair for one, its in zip(target.elts, value.elts, strict=True) for pair in _pairs(one, its)]
    return [pair for one in target.elts for pair in _pairs(one, target)]

"""Replacements of pieces of source: text with places for parts of a piece, and the helpers that a port includes."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
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


TYPED = "_typed"
"""The end of the name of the function that chooses, by argument types, what Numba compiles for a helper."""

OURS = re.compile(r": Any\b| -> (?:Any|None)\b|  # type: ignore\[[\w-]+\]")
"""The parts of the source of a helper that are for type checkers only."""


def helper_names(text: str) -> set[str]:
    """Return the helpers that a text calls."""
    return set(re.findall(r"(?<![\w.])_[a-z]\w*(?=[(,])", text))


def needed_helpers(names: Iterable[str]) -> list[str]:
    """Return helpers and those that they call, in the order of their file."""
    from pyopbench.ports.for_numba import helpers

    wanted, left = set(), list(names)
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += [one for one in helper_names(helper_source([name])[0]) if one in vars(helpers)]
    return [name for name in vars(helpers) if name in wanted and not name.endswith(TYPED)]


def helper_source(names: Iterable[str]) -> list[str]:
    """Return the source of some helpers, each with the code that types it."""
    return ["\n\n\n".join(_texts(name)) for name in names]


def _texts(name: str) -> Iterator[str]:
    from pyopbench.ports.for_numba import helpers

    for one in (name, name + TYPED):
        function = getattr(helpers, one, None)
        if function is not None:
            yield OURS.sub("", inspect.getsource(getattr(function, "py_func", function))).strip()


def filled(text: str, given: Mapping[str, ast.expr]) -> Instead:
    """Return a text in which names in braces stand for parts."""
    made = Instead()
    made.text = text.format(**{name: made.part(node) for name, node in given.items()})
    return made

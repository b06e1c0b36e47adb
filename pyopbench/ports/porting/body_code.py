"""A NumPy body and what it needs as source: compiled by Numba, or as it is."""

from __future__ import annotations

import ast
import random
import textwrap
from collections.abc import Sequence, Set

import numpy as np

from pyopbench.model.syntax import parts_of
from pyopbench.ports.for_numba.instead import BODY, Instead, helper_names
from pyopbench.ports.for_numba.names import Names, names_in
from pyopbench.ports.for_numba.rules import instead_of
from pyopbench.ports.for_numba.types import Types
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.ports.porting.render import Code, with_head
from pyopbench.ports.porting.units import Unit, Units


class BodyCode(Code):
    """Writes the functions `compiled` with their decorator, empty for none, and the body `root` under another name.

    Attributes:
        helpers: the functions of `for_numba.helpers` that were written calls of.
        drawn: names of the functions of `numpy.random` that are called.
    """

    def __init__(self, units: Units, root: str, compiled: Set[str], decorator: str, types: Types) -> None:
        super().__init__(units)
        self.root = root
        self.compiled = compiled
        self.decorator = decorator
        self.types = types
        self.helpers: set[str] = set()
        self.drawn: set[str] = set()
        self.names: Names | None = None

    def write_unit(self, unit: Unit) -> str:
        """Return a statement, functions with their decorator and all as Numba takes it."""
        is_compiled = self.decorator and unit.name in self.compiled
        self.names = names_in(unit.node, self.value_of, self.types, unit.source.path) if is_compiled else None
        text = super().write_unit(unit)
        if unit.name not in self.compiled:
            return text
        if unit.name == self.root:
            text = with_head(text, self.root, f"def {body_name(self.root)}(")
        if not self.decorator or self._is_vectorized(unit.node):
            return text
        lines = text.splitlines(keepends=True)
        first = next(place for place, line in enumerate(lines) if line.startswith(("def ", "@")))
        return "".join([*lines[:first], f"{self.decorator}\n", *lines[first:]])

    def _is_vectorized(self, node: ast.AST) -> bool:
        """Is it a function of elements, which Numba has a decorator for?"""
        return any(self.value_of(one) is np.vectorize for one in getattr(node, "decorator_list", ()))

    def as_it_stands(self, node: ast.AST) -> str:
        """Return a node; of a function with parameters by position too that are given by name alone.

        Numba finds no default of those.
        """
        if not isinstance(node, ast.FunctionDef) or not self.decorator or not _can_be_by_position(node.args):
            return super().as_it_stands(node)
        parts = [(*self.source.span(part), self.write(part)) for part in parts_of(node)]
        end, _ = self.source.span(node.args.kwonlyargs[0])
        star = self.source.data.rindex(b"*", 0, end)
        return self.source.replaced(*self.source.span(node), [*parts, (star, end, "")])

    def rewrite(self, node: ast.AST) -> str | None:
        """Return the body's new name, and a tuple for a list among the constants, which Numba takes for a variable."""
        if isinstance(node, ast.Name) and node.id == self.root and self.is_global(node):
            return body_name(self.root)
        if self.decorator and isinstance(node, ast.Attribute | ast.Name) and self.value_of(node) is np.vectorize:
            return "numba.vectorize"
        if not self.decorator:
            return super().rewrite(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List) and node in self.source.tree.body:
            items = ", ".join(self.write(one) for one in node.value.elts)
            names = " = ".join(self.source.text(*self.source.span(one)) for one in node.targets)
            return f"{names} = ({items}{',' if len(node.value.elts) == 1 else ''})"
        if isinstance(node, ast.Raise):
            return self.source.text(*self.source.span(node))
        if isinstance(node, ast.Call):
            self._note_draw(node)
        instead = self.names and instead_of(node, self.names)
        return self._filled(instead, node) if instead else super().rewrite(node)

    def _note_draw(self, node: ast.Call) -> None:
        function = self.value_of(node.func)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.random.RandomState):
            self.drawn.add(function.__name__)
        elif isinstance(owner, random.Random):
            raise CannotPort(
                f"`{ast.unparse(node.func)}` draws other numbers in Numba than in Python",
                fix="draw by functions of `np.random`",
                place=(self.source.path, node.lineno),
            )

    def _filled(self, instead: Instead, node: ast.AST) -> str:
        self.helpers |= helper_names(instead.text)
        if instead.text == BODY:
            return self._statements(instead.parts, node)
        return self.filled(instead)

    def _statements(self, body: Sequence[ast.stmt], node: ast.AST) -> str:
        """Return statements at the indentation of the one that they stand in."""
        spans = [self.source.span(one) for one in body]
        replacements = [(*span, self.write(one)) for span, one in zip(spans, body, strict=True)]
        text = self.source.replaced(spans[0][0], spans[-1][1], replacements)
        indented = textwrap.dedent(" " * body[0].col_offset + text)
        return textwrap.indent(indented, " " * node.col_offset).lstrip()  # type: ignore[attr-defined]


def _can_be_by_position(arguments: ast.arguments) -> bool:
    """Has a function parameters that are given by name alone, and may they stand behind those by position?"""
    with_default = [one is not None for one in arguments.kw_defaults]
    is_in_order = with_default == sorted(with_default) and (all(with_default) or not arguments.defaults)
    return bool(arguments.kwonlyargs) and arguments.vararg is None and is_in_order


def body_name(name: str) -> str:
    """Return the name of the body that is compiled."""
    return f"{name}_on_arrays"

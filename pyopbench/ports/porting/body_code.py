"""A NumPy body and what it needs as source: compiled by Numba, or as it is."""

from __future__ import annotations

import ast
import copy
import random
from typing import Any

import numpy as np

from pyopbench.model.syntax import DEFINITIONS, Source, every_name, number_of
from pyopbench.ports.extract.module import unparsed
from pyopbench.ports.for_numba.rules import replacement_of
from pyopbench.ports.for_numba.types import Names, Types, names_in, tree
from pyopbench.ports.functions.sources import FOR_NUMBA, definitions
from pyopbench.ports.porting.units import Code, Unit, Units


class BodyCode(Code):
    """Writes functions with a decorator, empty for none, and the body `root` under another name."""

    def __init__(self, units: Units, root: str, decorator: str, types: Types) -> None:
        super().__init__(units)
        self.root = root
        self.decorator = decorator
        self.types = types
        self.helpers: set[str] = set()  # functions of `for_numba.helpers` that are called
        self.drawn: set[str] = set()  # functions of `numpy.random` that are called

    def write_unit(self, unit: Unit) -> str:
        """Return a statement, functions with their decorator and all as Numba takes it."""
        self.unit = unit
        node = copy.deepcopy(unit.node)
        is_compiled = bool(self.decorator) and isinstance(node, DEFINITIONS)
        if isinstance(node, ast.FunctionDef) and is_compiled:
            if not any(self.value_of(one) is np.vectorize for one in node.decorator_list):
                node.decorator_list.insert(0, tree(self.decorator))
            _take_by_position(node.args)
        elif self.decorator and isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            node.value = ast.Tuple(node.value.elts, ast.Load())  # a list is a variable for Numba
        names = names_in(node, self.value_of, self.types, self.source.path) if is_compiled else None
        node = _Rewriting(self, names).visit(node)
        if isinstance(node, ast.FunctionDef) and unit.name == self.root:
            node.name = body_name(self.root)
        self.helpers |= every_name(node) & definitions(FOR_NUMBA).keys()
        return unparsed([(node, "")])[0].rstrip("\n")


class _Rewriting(ast.NodeTransformer):
    """Replaces nodes that Numba treats differently, and notes refusals."""

    def __init__(self, code: BodyCode, names: Names | None) -> None:
        self.code, self.names = code, names

    def visit(self, node: ast.AST) -> Any:
        """Return the replacement for a node; a statement that cannot be written is noted."""
        if isinstance(node, ast.stmt) and not isinstance(node, DEFINITIONS):
            return self.code.or_noted(self._rewritten, node, node)
        return self._rewritten(node)

    def _rewritten(self, node: ast.AST) -> Any:
        code = self.code
        if isinstance(node, ast.Raise) and code.decorator:
            return node
        if isinstance(node, ast.Call) and code.decorator:
            self._note_draw(node)
        if code.decorator and isinstance(node, ast.Attribute | ast.Name) and code.value_of(node) is np.vectorize:
            return tree("numba.vectorize")
        if isinstance(node, ast.Name) and node.id == code.root and code.is_global(node):
            return tree(body_name(code.root))
        new = replacement_of(node, self.names) if self.names is not None and number_of(node) >= 0 else None
        if isinstance(new, list):
            several = ast.Module(new, [])
            self.generic_visit(several)
            return several.body
        return self.generic_visit(node if new is None else new)

    def _note_draw(self, node: ast.Call) -> None:
        function = self.code.value_of(node.func)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, np.random.RandomState):
            self.code.drawn.add(function.__name__)
        elif isinstance(owner, random.Random):
            raise self.code.refusal(node, f"`{ast.unparse(node.func)}` draws other numbers in Numba than in Python")


def _take_by_position(arguments: ast.arguments) -> None:
    """Make parameters by name alone positional ones, after the others: Numba does not find their defaults."""
    with_default = [one is not None for one in arguments.kw_defaults]
    is_in_order = with_default == sorted(with_default) and (all(with_default) or not arguments.defaults)
    if is_in_order and arguments.vararg is None:
        arguments.args += arguments.kwonlyargs
        arguments.defaults += [one for one in arguments.kw_defaults if one is not None]
        arguments.kwonlyargs, arguments.kw_defaults = [], []


def body_name(name: str) -> str:
    """Return the name of the body that is compiled."""
    return f"{name}_on_arrays"


def lines_of_body(text: str, source: Source) -> dict[int, int]:
    """Return lines of the body's file by lines of a port that was written from it: statement by statement.

    Functions with another number of statements than the user's are left out.
    """
    port = _functions(ast.parse(text))
    found: dict[int, int] = {}
    for name, theirs in _functions(source.tree).items():
        mine = port.get(body_name(name), port.get(name))
        if mine is None or len(_statements(mine)) != len(_statements(theirs)):
            continue
        for one, other in zip(_statements(mine), _statements(theirs), strict=True):
            found |= dict.fromkeys(range(one.lineno, (one.end_lineno or one.lineno) + 1), other.lineno)
    return found


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return functions by name, the outer one of several."""
    return {node.name: node for node in reversed([*ast.walk(tree)]) if isinstance(node, ast.FunctionDef)}


def _statements(function: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function but for its docstring, those around others first."""
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    inside = [node for one in function.body for node in ast.walk(one) if isinstance(node, ast.stmt)]
    return [one for one in inside if one is not docstring]

"""A copy of a user's function in which what Numba does not take is written otherwise; lines stay the user's."""

from __future__ import annotations

import ast
import builtins
import copy
import linecache
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import BODY, PLACE, Instead, Names, helper_names, names_in
from pyopbench.ports.for_numba.rules import instead_of
from pyopbench.ports.tracing.user_code import codes_at, compiled_in, functions_at, is_same

PART = "pyopbench_part_"


def rewritten(function: Any, instead: Callable[[ast.AST, Names], Instead | None] = instead_of) -> Any:
    """Return the function as Numba takes it; itself where nothing is to be changed or its source is not found.

    Its globals get the helpers that it calls, and NumPy under the name `np`.

    Args:
        function: a copy of the user's, whose globals are its own.
        instead: says what stands for a node; None for one that stays.
    """
    code = function.__code__
    source = "".join(linecache.getlines(code.co_filename))
    found = functions_at(source, code.co_firstlineno, code.co_name)
    if len(found) != 1 or not any(
        is_same(one, code) for one in codes_at(source, code.co_filename, code.co_firstlineno)
    ):
        return function
    (node,) = found
    rewriting = _Rewriting(function, node, instead)
    node.body = [new for one in node.body for new in rewriting.statements(one)]
    scope = function.__globals__
    if not rewriting.used or scope.get("np", np) is not np or rewriting.used & scope.keys() - {"np"}:
        return function
    node.decorator_list, node.args.defaults, node.args.kw_defaults = [], [], [None] * len(node.args.kwonlyargs)
    new = compiled_in(node, code)
    if new is None or new.co_freevars != code.co_freevars:
        return function
    scope["np"] = np
    needed = rewriting.used - {"np"}
    if needed:
        from pyopbench.ports.for_numba import helpers  # imports Numba, which may not be there

        scope.update({name: getattr(helpers, name) for name in needed})
    made = types.FunctionType(new, scope, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__, made.__module__ = function.__kwdefaults__, function.__module__
    return made


class _Rewriting(ast.NodeTransformer):
    """One pass over a function; `used` are the global names that are needed more than before."""

    def __init__(self, function: Any, node: ast.FunctionDef, instead: Callable[..., Instead | None]) -> None:
        self.instead = instead
        self.scope = function.__globals__
        self.local = {*function.__code__.co_varnames, *function.__code__.co_cellvars, *function.__code__.co_freevars}
        code = function.__code__
        self.closed_over = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self.names = names_in(node, self._value)
        self.used: set[str] = set()

    def _value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Name) and node.id in self.closed_over:
            try:
                return self.closed_over[node.id].cell_contents
            except ValueError:  # a function, which is put there later
                return None
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.scope.get(node.id, getattr(builtins, node.id, None))
        home = self._value(node.value) if isinstance(node, ast.Attribute) else None
        return None if home is None else getattr(home, node.attr, None)  # type: ignore[attr-defined]

    def statements(self, node: ast.stmt) -> list[Any]:
        found = self.visit(node)
        return found if isinstance(found, list) else [found]

    def visit(self, node: ast.AST) -> Any:
        found = self.instead(node, self.names)
        if found is None:
            return self.generic_visit(node)
        if found.text == BODY:
            self.used.add("np")
            return [new for one in found.parts for new in self.statements(one)]
        return self._filled(found, node)

    def _filled(self, found: Instead, node: ast.AST) -> ast.AST:
        self.used |= {"np", *helper_names(found.text)}
        parts = [self.visit(one) for one in found.parts]
        (statement,) = ast.parse(PLACE.sub(rf"{PART}\1", found.text)).body
        new = _Filling(parts).visit(statement.value if isinstance(node, ast.expr) else statement)  # type: ignore[attr-defined]
        if isinstance(node, ast.Subscript):
            new.ctx = node.ctx
        for target in getattr(new, "targets", []):
            _store(target)
        for one in ast.walk(new):
            if not hasattr(one, "pyopbench_kept") and isinstance(one, ast.expr | ast.stmt | ast.keyword):
                ast.copy_location(one, node)
        return new  # type: ignore[no-any-return]


def _store(target: ast.expr) -> None:
    """Make an expression, whose parts may have been read elsewhere, one that is assigned to."""
    target.ctx = ast.Store()  # type: ignore[attr-defined]
    for one in getattr(target, "elts", []):
        _store(one)


class _Filling(ast.NodeTransformer):
    """Puts parts at their places; those keep their lines."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> Any:
        if not node.id.startswith(PART):
            return node
        part = copy.deepcopy(self.parts[int(node.id.removeprefix(PART))])
        for one in ast.walk(part):
            one.pyopbench_kept = True  # type: ignore[attr-defined]
        return part

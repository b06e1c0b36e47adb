"""What is known of the names and expressions of a function that Numba compiles, and trees that replace them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.ports.for_numba.types import ARRAY, SCALAR, STRICT, Type, Types
from pyopbench.ports.functions.table import name_of
from pyopbench.ports.porting.watched_values import METHODS


def tree(text: str, **parts: Any) -> Any:
    """Return the tree of an expression or a statement in which copies of parts replace names.

    A name with a star, as in `(*ITEMS,)`, is replaced by a list of them.
    """
    statement = _Filling(parts).visit(ast.parse(text).body[0])
    return statement.value if isinstance(statement, ast.Expr) else statement


class _Filling(ast.NodeTransformer):
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> Any:
        return copy.deepcopy(self.parts.get(node.id, node))

    def visit_Starred(self, node: ast.Starred) -> Any:
        return self.visit(node.value)


def is_ufunc(name: str) -> bool:
    """Is it the name of a function of NumPy's that is broadcast over its arguments, such as `np.add`?"""
    return name.startswith("np.") and isinstance(getattr(np, name[3:], None), np.ufunc)


def without_number(node: Any) -> Any:
    """Return a node with the same parts that has no number, so that no rule is asked about it again."""
    return type(node)(**dict(ast.iter_fields(node)))


@dataclass(frozen=True)
class Names:
    """What is known of the names and expressions of a function."""

    value_of: Callable[[ast.AST], Any]  # what a name, or an attribute of one, is in the file; None for what is local
    types: Types
    path: str
    variables: dict[str, set[Type]]  # all types that a local name had

    def of(self, node: ast.AST) -> set[Type]:
        """Return the types that an expression had; none if no example evaluated it."""
        return self.types.of(self.path, node)

    def in_numba(self, node: ast.AST) -> set[Type]:
        """Return all types that Numba has to unify: of a name, also those elsewhere and on other branches."""
        if isinstance(node, ast.Name):
            return self.of(node) | self.variables.get(node.id, set())
        of_items = self.of(node.value) if isinstance(node, ast.Subscript) else set()
        return self.of(node) | {item for one in of_items for item in one.items}

    def are(self, node: ast.AST, *kinds: str) -> bool:
        """Was an expression evaluated, and always one of these kinds?"""
        types = self.of(node)
        return bool(types) and all(one.kind in kinds for one in types)

    def may_be(self, node: ast.AST, *kinds: str) -> bool:
        """Was an expression ever one of these kinds?"""
        return any(one.kind in kinds for one in self.of(node))

    def rank(self, node: ast.AST) -> int | None:
        """Return how many axes an array has; None for what is no array, or has several numbers of axes."""
        ranks = {one.rank if one.kind == ARRAY else None for one in self.of(node)}
        return ranks.pop() if len(ranks) == 1 else None

    def dtype(self, node: ast.AST) -> str:
        """Return the dtype of NumPy's arrays and numbers that an expression was; empty for what is no such thing.

        Raises:
            CannotPort: it had several, of which Numba may choose another one.
        """
        dtypes = {one.dtype for one in self.of(node) if one.kind in (ARRAY, SCALAR)}
        if len(dtypes) > 1 and dtypes & STRICT:
            raise self.refusal(node, f"`{ast.unparse(node)}` has several dtypes: {', '.join(sorted(dtypes))}")
        return dtypes.pop() if len(dtypes) == 1 else ""

    def called(self, node: ast.Call) -> tuple[str, list[ast.expr]]:
        """Return the name of a function that is called, such as `np.sum`, and its arguments by position.

        Of a method of an array, the name is that of NumPy's function, or its own.
        """
        if isinstance(node.func, ast.Attribute) and self.are(node.func.value, ARRAY, SCALAR):
            name = node.func.attr
            is_function = name not in METHODS and hasattr(np, name)
            return f"np.{name}" if is_function else name, [node.func.value, *node.args]
        function = self.value_of(node.func)
        if isinstance(getattr(function, "__self__", None), np.random.RandomState):
            drawing = function.__name__
            return f"np.random.{drawing}" if function == getattr(np.random, drawing) else "", list(node.args)
        return name_of(function), list(node.args)

    def require(self, node: ast.AST) -> None:
        """Check that an expression was evaluated, if dtypes are in use that Numba would not keep.

        Raises:
            CannotPort: it was not.
        """
        if not self.of(node) and self.types.is_strict:
            why = f"no example evaluates `{ast.unparse(node)}`, so its dtype is not known"
            raise self.refusal(node, why, fix="add an example that does")

    def refusal(self, node: ast.AST, why: str, fix: str = "") -> CannotPort:
        """Return the refusal of an expression."""
        return CannotPort(why, fix=fix, place=(self.path, node.lineno))  # type: ignore[attr-defined]


def names_in(function: ast.AST, value_of: Callable[[ast.AST], Any], types: Types, path: str) -> Names:
    """Return what is known in a function, of which `value_of` knows the names that are global."""
    variables: dict[str, set[Type]] = {}
    for node in ast.walk(function):
        pairs: list[tuple[ast.AST, ast.AST]] = [(node, node)]  # perhaps a name, and what that is read as or bound to
        if isinstance(node, ast.AugAssign):
            pairs.append((node.target, node))
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):  # type: ignore[attr-defined]
                pairs += zip(target.elts, node.value.elts, strict=False)  # type: ignore[attr-defined]
            else:
                pairs.append((target, node.value))  # type: ignore[attr-defined]
        for name, value in pairs:
            if isinstance(name, ast.Name):
                variables.setdefault(name.id, set()).update(types.of(path, value))
    return Names(value_of, types, path, variables)

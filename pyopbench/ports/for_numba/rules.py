"""Replacements of the nodes of a body that Numba does not compile, or treats differently from NumPy."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from pyopbench.ports.for_numba import calls, numbers
from pyopbench.ports.for_numba.names import Names, tree
from pyopbench.ports.for_numba.types import ARRAY, LIST


def replacement_of(node: ast.AST, names: Names) -> Any:
    """Return the replacement for an expression or a statement, perhaps several statements; None for one that stays.

    Raises:
        CannotPort: Numba would take it for something else.
    """
    replacements = (rule(node, names) for rule in RULES.get(type(node), ()))
    new = next((each for each in replacements if each is not None), None)
    return numbers.in_dtype_of_numpy(node, new, names) if isinstance(node, ast.Call) else new


def product(node: ast.BinOp, names: Names) -> Any:
    """Return a replacement for `@`."""
    return calls.product(names, node.left, node.right) if isinstance(node.op, ast.MatMult) else None


def without_errstate(node: ast.With, names: Names) -> list[ast.stmt] | None:
    """Return the statements under `np.errstate`, which says nothing to what is compiled."""
    contexts = [one.context_expr for one in node.items if not one.optional_vars]
    functions = [names.value_of(one.func) for one in contexts if isinstance(one, ast.Call)]
    return node.body if functions == [np.errstate] * len(node.items) else None


def unpacked(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for an assignment of an array to several names, which Numba does not unpack."""
    match node:
        case ast.Assign([ast.Tuple(places) as target], ast.Name() | ast.Subscript() as value):
            if names.are(value, ARRAY, LIST):
                items = [tree(f"X[{place}]", X=value) for place in range(len(places))]
                return ast.Assign([target], ast.Tuple(items, ast.Load()))
    return None


def grid_unpacked(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for `y, x = np.mgrid[:h, :w]`, of whole numbers."""
    match node:
        case ast.Assign(
            [ast.Tuple([y, x])],
            ast.Subscript(grid, ast.Tuple([ast.Slice(_, _, None) as rows, ast.Slice(_, _, None) as columns])),
        ) if names.value_of(grid) is np.mgrid:
            ends = [[each.lower or ast.Constant(0), each.upper] for each in (rows, columns)]
            grids = tree("_meshgrid(np.arange(*COLUMNS), np.arange(*ROWS))", ROWS=ends[0], COLUMNS=ends[1])
            return ast.Assign([ast.Tuple([x, y], ast.Store())], grids)
    return None


def index_of_list(node: ast.Subscript, names: Names) -> Any:
    """Return a replacement for a subscript in which a list of numbers is an index."""
    several = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    lists = [isinstance(one, ast.List) or names.are(one, LIST) for one in several]
    if not any(lists):
        return None
    pairs = zip(several, lists, strict=True)
    items = [tree("np.array(X)", X=one) if is_list else one for one, is_list in pairs]
    index = ast.Tuple(items, ast.Load()) if isinstance(node.slice, ast.Tuple) else items[0]
    return ast.Subscript(node.value, index, node.ctx)


# Masks of several axes, which Numba does not take as an index.


def picked(node: ast.Subscript, names: Names) -> Any:
    """Return a replacement for the elements of an array where a mask is true."""
    masked = _masked(node, names) if isinstance(node.ctx, ast.Load) else None
    return masked and tree("_picked(*MASKED)", MASKED=masked)


def put(node: ast.Assign, names: Names) -> Any:
    """Return a replacement for an assignment to such elements."""
    target, *others = node.targets
    masked = _masked(target, names) if isinstance(target, ast.Subscript) and not others else None
    return masked and ast.Expr(tree("_put(*MASKED, VALUES)", MASKED=masked, VALUES=node.value))


def _masked(node: ast.Subscript, names: Names) -> list[ast.expr] | None:
    """Return an array and the mask that is its index; None for an index that Numba takes."""
    mask, *others = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not names.are(node.value, ARRAY) or (names.rank(mask) or 0) < 2 or names.dtype(mask) != "bool":
        return None
    if not others:
        return [node.value, mask]
    is_last = len(others) == 1 and not isinstance(others[0], ast.Slice) and not names.may_be(others[0], ARRAY)
    return [tree("X[..., LAST]", X=node.value, LAST=others[0]), mask] if is_last else None


RULES: dict[type[ast.AST], tuple[Callable[[Any, Names], Any], ...]] = {
    ast.Call: (calls.replace_call, calls.replace_creation, numbers.of_numbers),
    ast.Subscript: (picked, index_of_list),
    ast.BinOp: (product, numbers.operation),
    ast.UnaryOp: (numbers.sign,),
    ast.AugAssign: (numbers.in_place,),
    ast.Compare: (numbers.comparison,),
    ast.With: (without_errstate,),
    ast.Assign: (put, grid_unpacked, unpacked, numbers.becoming_float),
}
"""The rules of each kind of node, in the order in which they are asked."""

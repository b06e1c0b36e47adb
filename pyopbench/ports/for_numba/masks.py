"""Masks of several axes, which Numba does not take as an index."""

from __future__ import annotations

import ast

from pyopbench.ports.for_numba.instead import Instead
from pyopbench.ports.for_numba.names import Names
from pyopbench.ports.for_numba.numbers import OPERATORS, in_dtype
from pyopbench.ports.for_numba.types import ARRAY


def picked(node: ast.Subscript, names: Names) -> Instead | None:
    """Return what stands for the elements of an array where a mask is true."""
    made = Instead()
    index = _index(node, made, names) if isinstance(node.ctx, ast.Load) else None
    if index is None:
        return None
    made.text = f"_picked({', '.join(index)})"
    return made


def put(node: ast.Assign, names: Names) -> Instead | None:
    """Return what stands for an assignment to such elements."""
    (target, *others), made = node.targets, Instead()
    index = _index(target, made, names) if isinstance(target, ast.Subscript) and not others else None
    if index is None:
        return None
    names.require(node.value)
    assert isinstance(target, ast.Subscript)
    is_last = isinstance(target.slice, ast.Tuple)
    mask = target.slice.elts[0] if isinstance(target.slice, ast.Tuple) else target.slice
    axes = (names.rank(target.value) or 0) - (names.rank(mask) or 0) - is_last
    has_several = (names.rank(node.value) or 0) > axes
    made.text = f"{'_put_each' if has_several else '_put'}({', '.join(index)}, {made.part(node.value)})"
    return made


def put_in_place(node: ast.AugAssign, names: Names) -> Instead | None:
    """Return what stands for `x[mask] += 1`."""
    target, made = node.target, Instead()
    if not isinstance(target, ast.Subscript) or isinstance(node.op, ast.MatMult):
        return None
    index = _index(target, made, names)
    if index is None:
        return None
    given = ", ".join(index)
    value = in_dtype(node.value, names.dtype(target.value), made, names, is_array=True)
    made.text = f"_put_each({given}, _picked({given}) {OPERATORS[type(node.op)]} {value})"
    return made


def _index(node: ast.Subscript, made: Instead, names: Names) -> list[str] | None:
    """Return an array and the mask that is its index; None for an index that Numba takes."""
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    mask = items[0]
    if not names.are(node.value, ARRAY) or (names.rank(mask) or 0) < 2 or names.dtype(mask) != "bool":
        return None
    if len(items) == 1:
        return [made.part(node.value), made.part(mask)]
    is_last = len(items) == 2 and not isinstance(items[1], ast.Slice) and not names.may_be(items[1], ARRAY)
    return [f"{made.receiver(node.value)}[..., {made.part(items[1])}]", made.part(mask)] if is_last else None

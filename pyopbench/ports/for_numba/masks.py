"""Masks of several axes, which Numba does not take as an index."""

from __future__ import annotations

import ast
from dataclasses import replace

import numpy as np

from pyopbench.ports.for_numba.dtypes import OPERATORS
from pyopbench.ports.for_numba.instead import Instead, Names, is_python_number

OF_MASKS = {
    *(np.isnan, np.isinf, np.isfinite, np.isclose, np.isin, np.signbit),
    *(np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
}
"""Functions that return masks of arrays."""


def picked(node: ast.Subscript, names: Names) -> Instead | None:
    """Return what stands for the elements of an array where a mask is true."""
    if not isinstance(node.ctx, ast.Load):
        return None
    made = Instead()
    index = _index(node.slice, made, names)
    if index is None:
        return None
    made.text = f"_picked{index[0]}({made.part(node.value)}, {index[1]})"
    return made


def put(node: ast.Assign, names: Names) -> Instead | None:
    """Return what stands for an assignment to such elements."""
    (target, *others), made = node.targets, Instead()
    index = _index(target.slice, made, names) if isinstance(target, ast.Subscript) and not others else None
    if index is None:
        return None
    made.text = f"_put{index[0]}({made.part(target.value)}, {index[1]}, {made.part(node.value)})"  # type: ignore[attr-defined]
    return made


def put_in_place(node: ast.AugAssign, names: Names) -> Instead | None:
    """Return what stands for `x[mask] += 1`."""
    target, made = node.target, Instead()
    if not isinstance(target, ast.Subscript) or isinstance(node.op, ast.MatMult):
        return None
    index = _index(target.slice, made, names)
    if index is None:
        return None
    array, value = made.part(target.value), made.part(node.value)
    if is_python_number(node.value, names) and not names.is_wide:
        value = f"_like({value}, {array})"
    new = f"_picked{index[0]}({array}, {index[1]}) {OPERATORS[type(node.op)]} ({value})"
    made.text = f"_put{index[0]}({array}, {index[1]}, {new})"
    return made


def _index(node: ast.expr, made: Instead, names: Names) -> tuple[str, str] | None:
    """Return which helpers take an index, by the end of their names, and what they take; None for Numba's own."""
    if is_mask(node, names):
        return "", made.part(node)
    items = node.elts if isinstance(node, ast.Tuple) else []
    if len(items) < 2:
        return None
    is_number = isinstance(items[1], ast.Constant) and type(items[1].value) is int
    if len(items) == 2 and is_mask(items[0], names) and is_number:
        return "_of_last", f"{made.part(items[0])}, {made.part(items[1])}"
    return None


def is_mask(node: ast.expr, names: Names) -> bool:
    """Is it certainly made by a comparison or a question of NumPy's? It may still be one of numbers."""
    if isinstance(node, ast.Compare):
        of_numbers = all(is_python_number(one, names) for one in (node.left, *node.comparators))
        return len(node.ops) == 1 and not isinstance(node.ops[0], NOT_OF_ARRAYS) and not of_numbers
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and is_mask(node.operand, names)
    if isinstance(node, ast.BinOp):
        is_joined = isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)
        return is_joined and is_mask(node.left, names) and is_mask(node.right, names)
    if isinstance(node, ast.Name):
        return _are_masks(node, names)
    return isinstance(node, ast.Call) and any(names.value_of(node.func) is one for one in OF_MASKS)


NOT_OF_ARRAYS = (ast.In, ast.NotIn, ast.Is, ast.IsNot)


def _are_masks(node: ast.Name, names: Names) -> bool:
    """Is all that a local name is bound to a mask?"""
    values = names.bindings.get(node.id)
    if not values:
        return False
    known = replace(names, bindings={name: one for name, one in names.bindings.items() if name != node.id})
    return all(value is not None and is_mask(value, known) for value in values)

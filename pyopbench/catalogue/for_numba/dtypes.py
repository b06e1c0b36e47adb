"""Dtypes as Numba takes them: NumPy's and not Python's types, nor names of them, and those of numbers."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from pyopbench.catalogue.for_numba.instead import Instead, Names
from pyopbench.catalogue.for_numba.reducing import REDUCTIONS, is_method

PLACES = {"zeros": 1, "ones": 1, "empty": 1, "array": 1, "asarray": 1, "full": 2, "empty_like": 1, "zeros_like": 1}
"""Functions that take a dtype by position, and at which."""

TYPES = {bool: "np.bool_", int: "np.int64", float: "np.float64"}


def made_with_dtype(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a call of NumPy's whose dtype is a type of Python's, or the name of one."""
    function = names.value_of(node.func)
    if getattr(function, "__module__", None) != "numpy":
        return None
    place = PLACES.get(getattr(function, "__name__", ""))
    at = [one.value for one in node.keywords if one.arg == "dtype"]
    at += [one for number, one in enumerate(node.args) if number == place]
    dtype = _named(at[0], names) if at else None
    if dtype is None:
        return None
    made = Instead()
    args = [dtype if one is at[0] else made.part(one) for one in node.args]
    named = [f"{one.arg}={dtype if one.value is at[0] else made.part(one.value)}" for one in node.keywords]
    made.text = f"{made.part(node.func)}({', '.join([*args, *named])})"
    return made


def cast(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for `astype`, of an array or of a number, which has none for Numba."""
    if not is_method(node, names) or not isinstance(node.func, ast.Attribute) or node.func.attr != "astype":
        return None
    options = {one.arg: one.value for one in node.keywords}
    given = node.args[0] if len(node.args) == 1 else options.get("dtype")
    if given is None or len(node.args) > 1 or not options.keys() <= {"dtype", "copy"}:
        return None
    dtype, is_number = _named(given, names), may_be_number(node.func.value, names)
    if dtype is None and not is_number and "copy" not in options:
        return None
    made = Instead()
    array = f"np.asarray({made.part(node.func.value)})" if is_number else made.receiver(node.func.value)
    made.text = f"{array}.astype({dtype or made.part(given)}){'[()]' if is_number else ''}"
    return made


def _named(node: ast.expr, names: Names) -> str | None:
    """Return how Numba takes a dtype; None for one that is written so already, or that is not known."""
    if isinstance(node, ast.Name):
        value: Any = names.value_of(node)
        return TYPES.get(value) if isinstance(value, type) else None
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    try:
        dtype = np.dtype(node.value)
    except TypeError:
        return None
    return {"bool": "np.bool_"}.get(dtype.name, f"np.{dtype.name}") if dtype.kind in "biufc" else None


def may_be_number(node: ast.expr, names: Names) -> bool:
    """Is it an expression that returns a number and no array, for all that is seen?"""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Name):
        return isinstance(names.value_of(node), int | float)
    if isinstance(node, ast.UnaryOp):
        return may_be_number(node.operand, names)
    if isinstance(node, ast.BinOp):
        return may_be_number(node.left, names) and may_be_number(node.right, names)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) or (
            isinstance(node.slice, ast.Tuple)
            and any(isinstance(one, ast.Constant) and isinstance(one.value, int) for one in node.slice.elts)
            and not any(isinstance(one, ast.Slice) for one in node.slice.elts)
        )
    return isinstance(node, ast.Call) and _returns_number(node, names)


def _returns_number(node: ast.Call, names: Names) -> bool:
    function = names.value_of(node.func)
    if function is np.dot:
        return True
    if isinstance(function, np.ufunc):
        return bool(node.args) and all(may_be_number(one, names) for one in node.args)
    is_reduction = any(function is one for one in REDUCTIONS)
    is_whole = len(node.args) == is_reduction and not node.keywords
    named = isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS.values()
    return is_whole and (is_reduction or (named and is_method(node, names)))

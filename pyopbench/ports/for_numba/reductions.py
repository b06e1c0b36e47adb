"""Reductions that keep an axis, or go along one, and functions of vectors along an axis."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.names import Names, tree
from pyopbench.ports.for_numba.types import LIST

ALONG = {"sum", "argmax", "argmin"}
"""Those that Numba takes with an axis."""

STEPWISE = {"max", "min", "amax", "amin", "sum", "prod", "any", "all", "mean", "nanmax", "nanmin", "nansum"}
"""Those that several axes may be taken one after another of."""

REDUCTIONS = {
    getattr(np, name): name
    for name in (*ALONG, *STEPWISE, "std", "var", "median", "ptp", "nanmean", "nanmedian", "nanstd", "nanvar")
}

EACH = {np.sort: "sort", np.argsort: "argsort", np.cumsum: "cumsum", np.cumprod: "cumprod", np.flip: "flip"}


def along(node: ast.Call, names: Names) -> Any:
    """Return a replacement for a function of NumPy's that takes an axis."""
    function, args = names.called(node)
    options = {one.arg: one.value for one in node.keywords}
    if not 1 <= len(args) <= 2 or any(isinstance(one, ast.Starred) for one in args):
        return None
    axis = args[1] if len(args) == 2 else options.get("axis")
    is_none = axis is None or ast.unparse(axis) == "None"
    if name := next((EACH[one] for one in EACH if one is function), ""):
        has_axis = not is_none and len(args) + len(options) == 2
        return tree(f"_each_along(np.{name}, X, AXIS)", X=args[0], AXIS=axis) if has_axis else None
    name = next((REDUCTIONS[one] for one in REDUCTIONS if one is function), "")
    keeps = options.get("keepdims", ast.Constant(value=False))
    if not name or not options.keys() <= {"axis", "keepdims"} or not isinstance(keeps, ast.Constant):
        return None
    array, rank = args[0], names.rank(args[0])
    if is_none or (rank == 1 and not keeps.value):
        return None if keeps.value else _over_all(name, array, names, has_axis=not is_none)
    axes = _axes(axis)  # type: ignore[arg-type]
    if not axes or (len(axes) > 1 and name not in STEPWISE) or (name in ALONG and len(axes) == 1 and not keeps.value):
        return None
    new = array
    for done, one in enumerate(axes):
        is_last = not keeps.value and rank is not None and rank - done == 1
        new = _along(name, new, None if is_last or rank == 1 else one)
        if keeps.value:
            new = tree("np.expand_dims(np.asarray(X), AXIS)", X=new, AXIS=one)
    return new


def _over_all(name: str, array: ast.expr, names: Names, *, has_axis: bool) -> Any:
    is_list = names.are(array, LIST)
    new = tree("_numbers_of(X)", X=array) if is_list else array
    if name == "mean":
        return tree("_mean(X)", X=new)
    if name == "sum" and names.dtype(array) == "float32" and names.rank(array):
        return tree("np.sum(X, dtype=np.float64)", X=new)
    return tree(f"np.{name}(X)", X=new) if is_list or has_axis else None


def _along(name: str, array: ast.expr, axis: ast.expr | None) -> Any:
    function = "_mean" if name == "mean" else f"np.{name}"
    if axis is None:
        return tree(f"{function}(X)", X=array)
    text = f"{function}(X, AXIS)" if name in ALONG else f"_along({function}, X, AXIS)"
    return tree(text, X=array, AXIS=axis)


def _axes(axis: ast.expr) -> list[ast.expr]:
    """Return axes in an order in which each keeps its number; none where there is no such order."""
    try:
        value: Any = ast.literal_eval(axis)
    except ValueError:
        return [axis]
    several = list(value) if isinstance(value, tuple) else [value]
    if not all(type(one) is int for one in several):
        return [axis]
    if len({one < 0 for one in several}) != 1:
        return []
    return [tree(str(one)) for one in sorted(several, reverse=several[0] >= 0)]

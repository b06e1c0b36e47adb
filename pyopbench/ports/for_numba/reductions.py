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
    axis = args[1] if len(args) == 2 else options.pop("axis", ast.Constant(None))
    keeps = ast.unparse(options.pop("keepdims", ast.Constant(value=False)))
    if not 1 <= len(args) <= 2 or options or keeps not in ("True", "False"):
        return None
    array, rank, has_axis = args[0], names.rank(args[0]), ast.unparse(axis) != "None"
    if each := next((EACH[one] for one in EACH if one is function), ""):
        text = f"np.{each}(X)" if rank == 1 else f"_each_along(np.{each}, X, AXIS)"
        return tree(text, X=array, AXIS=axis) if has_axis else None
    name = next((REDUCTIONS[one] for one in REDUCTIONS if one is function), "")
    if not name or (keeps == "True" and not has_axis):
        return None
    if not has_axis or (rank == 1 and keeps == "False"):
        return _over_all(name, array, names, has_axis=has_axis)
    axes = _axes(axis)
    is_native = name in ALONG and len(axes) == 1 and keeps == "False"
    if not axes or (len(axes) > 1 and name not in STEPWISE) or is_native:
        return None
    new = array
    for done, one in enumerate(axes):
        is_last = keeps == "False" and rank is not None and rank - done == 1
        new = _along(name, new, None if is_last or rank == 1 else one)
        if keeps == "True":
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

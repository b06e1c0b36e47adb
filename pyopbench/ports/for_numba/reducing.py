"""Reductions that keep an axis, or go along one, and functions of vectors along an axis."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import Instead, Names

REDUCTIONS = {
    getattr(np, name): name
    for name in (
        *("max", "min", "amax", "amin", "sum", "prod", "any", "all", "mean", "std", "var", "median", "ptp"),
        *("nanmax", "nanmin", "nansum", "nanmean", "nanmedian", "nanstd", "nanvar", "argmax", "argmin"),
    )
}
METHODS = {"max", "min", "sum", "prod", "any", "all", "mean", "std", "var", "argmax", "argmin"}
AVERAGES = {"std", "var", "median", "ptp", "nanmean", "nanmedian", "nanstd", "nanvar"}
"""Those of which Numba returns float64 for float32."""

ALONG = {"sum", "argmax", "argmin"}
"""Those that Numba takes with an axis."""

STEPWISE = {"max", "min", "amax", "amin", "sum", "prod", "any", "all", "mean", "nanmax", "nanmin", "nansum"}
"""Those that several axes may be taken one after another of."""

EACH = {np.sort: "sort", np.argsort: "argsort", np.cumsum: "cumsum", np.cumprod: "cumprod", np.flip: "flip"}


@dataclass(frozen=True)
class _Call:
    name: str
    array: ast.expr
    axis: ast.expr | None
    keeps: bool


def reduction(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a reduction along axes, or with `keepdims`, or of a list."""
    call = _reduction(node, names)
    if call is None:
        return None
    if call.axis is None:
        return None if call.keeps else _over_all(call, names)
    axes = constants(call.axis)
    if axes is None:
        return _over_axes(call, [call.axis])
    ordered = _ordered(axes) if len(axes) > 1 else list(axes)
    if not ordered or (len(ordered) > 1 and call.name not in STEPWISE):
        return None
    return _over_axes(call, ordered)


def _over_all(call: _Call, names: Names) -> Instead | None:
    made = Instead()
    is_list = isinstance(call.array, ast.Name) and call.array.id in names.lists
    given = f"_array_of({made.part(call.array)})" if is_list else made.part(call.array)
    if call.name == "mean":
        made.text = f"_mean({given})"
    elif is_list:
        made.text = f"np.{call.name}({given})"
    return made if made.text else None


def _over_axes(call: _Call, axes: Sequence[int | ast.expr]) -> Instead | None:
    if call.name in ALONG and len(axes) == 1 and not call.keeps:
        return None
    made = Instead()
    made.text = made.part(call.array)
    for one in axes:
        axis = str(one) if isinstance(one, int) else made.part(one)
        made.text = _along(call.name, made.text, axis)
        if call.keeps:
            made.text = f"np.expand_dims(np.asarray({made.text}), {axis})"
    return made


def _along(name: str, array: str, axis: str) -> str:
    if name in ALONG:
        return f"np.{name}({array}, {axis})"
    return f"{'_average_along' if name in AVERAGES else '_along'}(np.{name}, {array}, {axis})"


def _reduction(node: ast.Call, names: Names) -> _Call | None:
    function = names.value_of(node.func)
    if function in REDUCTIONS if _is_hashable(function) else False:
        name, args = REDUCTIONS[function], node.args
    elif is_method(node, names) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        name, args = node.func.attr, [node.func.value, *node.args]
    else:
        return None
    options = {one.arg: one.value for one in node.keywords}
    if not args or len(args) > 2 or not options.keys() <= {"axis", "keepdims"} or any(map(_is_starred, args)):
        return None
    axis = args[1] if len(args) > 1 else options.get("axis")
    keeps = options.get("keepdims", ast.Constant(value=False))
    if not isinstance(keeps, ast.Constant):
        return None
    is_none = isinstance(axis, ast.Constant) and axis.value is None
    return _Call(name, args[0], None if is_none else axis, bool(keeps.value))


def each_along(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a function of NumPy's that makes something of each vector along an axis."""
    function = names.value_of(node.func)
    if not _is_hashable(function) or function not in EACH:
        return None
    options = {one.arg: one.value for one in node.keywords}
    axis = node.args[1] if len(node.args) == 2 else options.get("axis")
    if axis is None or len(node.args) + len(options) != 2 or not (constants(axis) or isinstance(axis, ast.Name)):
        return None
    made = Instead()
    made.text = f"_each_along(np.{EACH[function]}, {made.part(node.args[0])}, {made.part(axis)})"
    return made


def is_method(node: ast.Call, names: Names) -> bool:
    """Is it a method of what may be an array, and no function of a module?"""
    if not isinstance(node.func, ast.Attribute):
        return False
    home = names.value_of(node.func.value)
    return home is None or isinstance(home, np.ndarray)


def constants(axis: ast.expr) -> tuple[int, ...] | None:
    """Return axes that are written as numbers; None for others."""
    try:
        value: Any = ast.literal_eval(axis)
    except ValueError:
        return None
    several = value if isinstance(value, tuple) else (value,)
    return several if all(type(one) is int for one in several) else None


def _ordered(axes: Sequence[int]) -> list[int]:
    """Return axes in an order in which each keeps its number; none where there is no such order."""
    if all(one >= 0 for one in axes):
        return sorted(axes, reverse=True)
    return sorted(axes) if all(one < 0 for one in axes) else []


def _is_starred(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred)


def _is_hashable(value: Any) -> bool:
    return callable(value) and getattr(value, "__hash__", None) is not None

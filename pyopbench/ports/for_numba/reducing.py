"""Reductions that keep an axis, or go along one, and functions of vectors along an axis."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.ports.for_numba.instead import Instead
from pyopbench.ports.for_numba.names import Names
from pyopbench.ports.for_numba.types import LIST

REDUCTIONS = {
    getattr(np, name): name
    for name in (
        *("max", "min", "amax", "amin", "sum", "prod", "any", "all", "mean", "std", "var", "median", "ptp"),
        *("nanmax", "nanmin", "nansum", "nanmean", "nanmedian", "nanstd", "nanvar", "argmax", "argmin"),
    )
}
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
    if call.axis is None or (names.rank(call.array) == 1 and not call.keeps):
        return None if call.keeps else _over_all(call, names)
    axes = constants(call.axis)
    if axes is None:
        return _over_axes(call, [call.axis], names)
    ordered = _ordered(axes) if len(axes) > 1 else list(axes)
    if not ordered or (len(ordered) > 1 and call.name not in STEPWISE):
        return None
    return _over_axes(call, ordered, names)


def _over_all(call: _Call, names: Names) -> Instead | None:
    made = Instead()
    is_list = names.are(call.array, LIST)
    given = f"_numbers_of({made.part(call.array)})" if is_list else made.part(call.array)
    if call.name == "mean":
        made.text = f"_mean({given})"
    elif call.name == "sum" and names.dtype(call.array) == "float32" and names.rank(call.array):
        made.text = f"np.sum({given}, dtype=np.float64)"
    elif is_list or call.axis is not None:
        made.text = f"np.{call.name}({given})"
    return made if made.text else None


def _over_axes(call: _Call, axes: Sequence[int | ast.expr], names: Names) -> Instead | None:
    if call.name in ALONG and len(axes) == 1 and not call.keeps:
        return None
    made, rank = Instead(), names.rank(call.array)
    made.text = made.part(call.array)
    for done, one in enumerate(axes):
        axis = str(one) if isinstance(one, int) else made.part(one)
        is_last = not call.keeps and rank is not None and rank - done == 1
        made.text = _along(call.name, made.text, "" if is_last or rank == 1 else axis)
        if call.keeps:
            made.text = f"np.expand_dims(np.asarray({made.text}), {axis})"
    return made


def _along(name: str, array: str, axis: str) -> str:
    function = "_mean" if name == "mean" else f"np.{name}"
    if name in ALONG or not axis:
        return f"{function}({array}{', ' if axis else ''}{axis})"
    return f"_along({function}, {array}, {axis})"


def _reduction(node: ast.Call, names: Names) -> _Call | None:
    function, args = names.called(node)
    name = next((REDUCTIONS[one] for one in REDUCTIONS if one is function), None)
    options = {one.arg: one.value for one in node.keywords}
    if (
        name is None
        or not args
        or len(args) > 2
        or not options.keys() <= {"axis", "keepdims"}
        or any(isinstance(one, ast.Starred) for one in args)
    ):
        return None
    axis = args[1] if len(args) > 1 else options.get("axis")
    keeps = options.get("keepdims", ast.Constant(value=False))
    if not isinstance(keeps, ast.Constant):
        return None
    is_none = isinstance(axis, ast.Constant) and axis.value is None
    return _Call(name, args[0], None if is_none else axis, bool(keeps.value))


def each_along(node: ast.Call, names: Names) -> Instead | None:
    """Return what stands for a function of NumPy's that makes something of each vector along an axis."""
    function, args = names.called(node)
    name = next((EACH[one] for one in EACH if one is function), None)
    options = {one.arg: one.value for one in node.keywords}
    axis = args[1] if len(args) == 2 else options.get("axis")
    if name is None or axis is None or len(args) + len(options) != 2:
        return None
    if ast.unparse(axis) == "None":
        return None
    made = Instead()
    made.text = f"_each_along(np.{name}, {made.part(args[0])}, {made.part(axis)})"
    return made


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

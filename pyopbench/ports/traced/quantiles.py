"""Medians, quantiles and percentiles."""

from __future__ import annotations

from typing import Any

from pyopbench.ports.traced.array import TracedArray, as_traced
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_numpy, only
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.untyped import np

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _flattened(x: TracedArray, axis: Any) -> tuple[TracedArray, list[int]]:
    """Return an array whose last axis is what is reduced, of several axes their elements one behind the other."""
    axes = axes_of(axis, x.ndim)
    rest = [place for place in range(x.ndim) if place not in axes]
    moved = np.transpose(x, [*rest, *axes])
    return np.reshape(moved, (*(x.shape[place] for place in rest), -1)), axes


def _ordered(x: TracedArray) -> tuple[Any, Any]:
    """Return an array sorted along its last axis, and whether that has NaN."""
    nan = np.any(np.isnan(x), axis=-1) if x.dtype.kind == "f" else None
    return np.sort(x, axis=-1), nan


def _kept(found: Any, axes: list[int], *, keep: Any, leading: int = 0) -> Any:
    return np.expand_dims(found, [leading + axis for axis in axes]) if keep else found


@in_numpy("median")
def median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """Return the middle elements, of an even number the mean of both; NaN where there is any."""
    x = as_traced(a)
    flat, axes = _flattened(x, axis)
    ordered, nan = _ordered(flat)
    count = flat.shape[-1]
    middle = (ordered[..., (count - 1) // 2 : count // 2 + 1]).mean(axis=-1)
    found = middle if nan is None else np.where(nan, np.array(np.nan, middle.dtype), middle)
    return _kept(found, axes, keep=keepdims)


def _quantile(name: str, of_hundred: bool) -> None:
    @in_numpy(name)
    def function(
        a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear",
        keepdims: bool = False, *, weights: Any = None, interpolation: Any = None,
    ) -> Any:  # fmt: skip
        only(name, weights=weights)
        x, share = as_traced(a), as_traced(q)
        method = interpolation or method
        if method not in METHODS:
            raise refuse(f"np.{name}(..., method={method!r})")
        numpys = getattr(np, name)
        plain_q = share.value if share.is_known else np.ones(share.static_shape, share.dtype)
        plain_q = plain_q.item() if share.weak else plain_q
        kind = np.asarray(numpys(np.ones((1,) * max(x.ndim, 1), x.dtype), plain_q, method=method)).dtype
        flat, axes = _flattened(x, axis)
        ordered, nan = _ordered(flat if flat.dtype.kind != "b" else flat.astype(kind))
        wide = np.float64 if kind != np.float32 or x.dtype != np.float32 else np.float32
        shares = share.astype(np.float64 if share.weak else np.result_type(share.dtype, wide))
        if of_hundred:
            shares = shares / 100
        count = flat.shape[-1]
        is_whole = share.dtype.kind in "iu" and not share.weak and not of_hundred
        if is_whole and method == "linear":  # each share is that of an element
            method = "lower"
        found = _interpolated(ordered, shares.astype(np.float64), count, method, kind)
        if nan is not None:
            found = np.where(nan, np.array(np.nan, kind), found)
        return _kept(found.astype(kind), axes, keep=keepdims, leading=share.ndim)


def _interpolated(ordered: Any, shares: Any, count: Any, method: str, kind: Any) -> Any:
    """Return the elements at shares of the way, or between two of them; shares become the first axes."""
    place = shares * (count - 1)
    if method == "nearest":
        half = np.floor(place) + 0.5
        even = np.floor(place) % 2 == 0
        place = np.where((place == half) & even, np.floor(place), np.floor(place + 0.5))
    below = (np.ceil if method == "higher" else np.floor)(place).astype(np.int64)
    rank = ordered.ndim - 1
    axis_first = np.moveaxis(ordered, -1, 0)
    low = axis_first[below]
    if method not in ("linear", "midpoint"):
        return low
    # As NumPy does it where the place is that of an element, too: 0 times the distance to an infinite one is NaN.
    high = axis_first[np.minimum(below + 1, count - 1)]
    way = place - np.floor(place)
    if method == "midpoint":
        way = np.where(way == 0, 0.0, 0.5)
    way = np.reshape(way, (*way.shape, *[1] * rank)).astype(kind)
    low, high = low.astype(kind), high.astype(kind)
    apart = high - low
    return np.where(way >= 0.5, high - apart * (1 - way), low + apart * way)


_quantile("quantile", of_hundred=False)
_quantile("percentile", of_hundred=True)


def _numbers(x: TracedArray, axis: Any) -> tuple[Any, Any, list[int]]:
    """Return an array sorted along its last axis, NaN behind, how many are not NaN, and what is reduced."""
    flat, axes = _flattened(x, axis)
    if None in flat.static_shape:
        raise refuse("np.nanmedian", why="needs a shape that is known before the graph runs")
    return np.sort(flat, axis=-1), np.sum(~np.isnan(flat), axis=-1), axes


def _at(ordered: Any, place: Any) -> Any:
    inside = np.clip(place, 0, ordered.shape[-1] - 1)
    return np.take_along_axis(ordered, inside[..., None], axis=-1)[..., 0]


@in_numpy("nanmedian")
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """Return the middle of the elements that are not NaN; NaN where there are none."""
    x = as_traced(a)
    if x.dtype.kind != "f" or x.ndim == 0 or 0 in x.static_shape:
        return np.median(x, axis, keepdims=keepdims)
    ordered, count, axes = _numbers(x, axis)
    low, high = _at(ordered, (count - 1) // 2), _at(ordered, count // 2)
    middle = np.where(low == high, low, (low + high) / 2)
    return _kept(np.where(count > 0, middle, np.array(np.nan, x.dtype)), axes, keep=keepdims)


def _nan_quantile(name: str, of_hundred: bool) -> None:
    plain = name.removeprefix("nan")

    @in_numpy(name)
    def function(a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear",
                 keepdims: Any = False, *, weights: Any = None) -> Any:  # fmt: skip
        only(name, weights=weights)
        x, share = as_traced(a), as_traced(q)
        if x.dtype.kind != "f":
            return getattr(np, plain)(x, q, axis, method=method, keepdims=keepdims)
        if method != "linear" or not share.is_known or share.ndim > 1 or 0 in x.static_shape:
            raise refuse(f"np.{name}", why="is traced for method='linear' and shares that are known")
        one = share.value.item() if share.weak else share.value
        kind = np.asarray(getattr(np, plain)(np.ones(1, x.dtype), one)).dtype
        shares = [float(value) / (100 if of_hundred else 1) for value in share.value.ravel()]
        ordered, count, axes = _numbers(x, axis)
        found = [_between(ordered, count, value, kind) for value in shares]
        if share.ndim == 0:
            return _kept(found[0], axes, keep=keepdims)
        return _kept(np.stack(found), axes, keep=keepdims, leading=1)


def _between(ordered: Any, count: Any, share: float, kind: Any) -> Any:
    place = (count - 1) * share
    below = np.floor(place).astype(np.int64)
    way = (place - np.floor(place)).astype(kind)
    low, high = _at(ordered, below).astype(kind), _at(ordered, np.minimum(below + 1, count - 1)).astype(kind)
    apart = high - low
    found = np.where(way >= 0.5, high - apart * (1 - way), low + apart * way)
    return np.where(count > 0, found, np.array(np.nan, kind))


_nan_quantile("nanquantile", of_hundred=False)
_nan_quantile("nanpercentile", of_hundred=True)

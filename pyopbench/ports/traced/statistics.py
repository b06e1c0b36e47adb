"""Functions of statistics, comparisons and sums that leave NaN out, put together of others."""

from __future__ import annotations

from typing import Any

from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.reductions import UNSET, axes_of
from pyopbench.ports.traced.registry import in_numpy
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.untyped import np


@in_numpy("ptp")
def ptp(a: Any, axis: Any = None, *, keepdims: Any = UNSET) -> Any:
    """Return the largest element less the smallest."""
    return np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims)


@in_numpy("average")
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = UNSET) -> Any:
    """Return weighted means."""
    x = as_traced(a)
    if weights is None:
        if returned:
            raise refuse("np.average(..., returned=True)")
        return np.mean(x, axis, keepdims=keepdims)
    given = as_traced(weights)
    kind = np.result_type(x.dtype, given.dtype, np.float64 if x.dtype.kind in "iub" else x.dtype)
    if given.static_shape != x.static_shape:
        if axis is None or given.ndim != 1:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        (place,) = axes_of(axis, x.ndim)
        given = np.reshape(given, [-1 if at == place else 1 for at in range(x.ndim)])
    given = given.astype(kind)
    spread = np.broadcast_to(given, x.shape)
    total = np.sum(spread, axis, keepdims=keepdims)
    found = np.sum(x.astype(kind) * given, axis, keepdims=keepdims) / total
    return (found, total) if returned else found


@in_numpy("cov")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """Return the covariances of variables, which are rows."""
    if fweights is not None or aweights is not None:
        raise refuse("np.cov(..., fweights=, aweights=)")
    x = as_traced(m)
    kind = np.result_type(x.dtype, np.float64, *([] if y is None else [as_traced(y).dtype])) if dtype is None else dtype
    x = _rows(x, rowvar=rowvar).astype(kind)
    if y is not None:
        x = np.concatenate([x, _rows(as_traced(y), rowvar=rowvar).astype(kind)], axis=0)
    less = (0 if bias else 1) if ddof is None else ddof
    count = x.shape[1]
    away = x - np.mean(x, axis=1)[:, None]
    return (
        np.squeeze(np.dot(away, np.conj(away.T)) / (count - less))
        if None not in x.static_shape
        else np.dot(away, np.conj(away.T)) / (count - less)
    )


def _rows(x: Any, *, rowvar: bool) -> Any:
    x = np.atleast_2d(x) if x.ndim < 2 else x
    return x if rowvar or x.shape[0] == 1 else x.T


@in_numpy("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """Return the correlations of variables, which are rows."""
    both = np.cov(x, y, rowvar, dtype=dtype)
    if both.ndim == 0:
        return both / both
    spread = np.sqrt(np.diagonal(both).real)
    found = both / spread[:, None] / spread[None, :]
    if found.dtype.kind == "c":
        raise refuse("np.corrcoef", why="is not traced for complex numbers")
    return np.clip(found, -1, 1)


@in_numpy("isclose")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Return whether elements are equal to a tolerance."""
    x, y = as_traced(a), as_traced(b)
    if y.dtype.kind != "f" and y.dtype.kind != "c":
        y = y.astype(np.float64)
    near = (np.abs(x - y) <= atol + rtol * np.abs(y)) & np.isfinite(y)
    found = near | (x == y)
    return found | (np.isnan(x) & np.isnan(y)) if equal_nan else found


@in_numpy("allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Return whether all elements are equal to a tolerance."""
    return np.all(np.isclose(a, b, rtol, atol, equal_nan))


@in_numpy("array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether two arrays have the same shape and elements."""
    x, y = as_traced(a1), as_traced(a2)
    if None in (*x.static_shape, *y.static_shape):
        raise refuse("np.array_equal", why="needs shapes that are known before the graph runs")
    if x.static_shape != y.static_shape:
        return False
    found = x == y
    return np.all(found | (np.isnan(x) & np.isnan(y)) if equal_nan else found)


@in_numpy("nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """Return an array with numbers in place of NaN and infinities."""
    array = as_traced(x)
    if array.dtype.kind != "f" or not copy:
        raise refuse("np.nan_to_num", why=f"is not traced for {array.dtype} and copy={copy}")
    limits = np.finfo(array.dtype)
    found = np.where(np.isnan(array), np.array(nan, array.dtype), array)
    for infinite, value in (
        (np.inf, limits.max if posinf is None else posinf),
        (-np.inf, limits.min if neginf is None else neginf),
    ):
        found = np.where(found == infinite, np.array(value, array.dtype), found)
    return found


def _without_nan(name: str, fill: Any, *, all_nan: bool = False) -> None:
    """Enter a function that takes NaN for another value; where there is only NaN, some of them return it."""

    @in_numpy(f"nan{name}")
    def function(a: Any, axis: Any = None, *, keepdims: Any = UNSET) -> Any:
        x = as_traced(a)
        reduce = getattr(np, name)
        if x.dtype.kind != "f":
            return reduce(x, axis, keepdims=keepdims)
        nan = np.isnan(x)
        found = reduce(np.where(nan, np.array(fill, x.dtype), x), axis, keepdims=keepdims)
        if not all_nan:
            return found
        return np.where(np.all(nan, axis, keepdims=keepdims), np.array(np.nan, x.dtype), found)


_without_nan("sum", 0)
_without_nan("prod", 1)
_without_nan("max", -np.inf, all_nan=True)
_without_nan("min", np.inf, all_nan=True)


def _of_places(name: str, fill: Any) -> None:
    @in_numpy(f"nan{name}")
    def function(a: Any, axis: Any = None, *, keepdims: Any = UNSET) -> Any:
        x = as_traced(a)
        if x.dtype.kind == "f":
            x = np.where(np.isnan(x), np.array(fill, x.dtype), x)
        return getattr(np, name)(x, axis, keepdims=keepdims)


_of_places("argmax", -np.inf)
_of_places("argmin", np.inf)


@in_numpy("nanmean")
def nanmean(a: Any, axis: Any = None, *, keepdims: Any = UNSET) -> Any:
    """Return means of what is not NaN."""
    x = as_traced(a)
    if x.dtype.kind != "f":
        return np.mean(x, axis, keepdims=keepdims)
    count = np.sum(~np.isnan(x), axis, keepdims=keepdims)
    return np.nansum(x, axis, keepdims=keepdims) / count.astype(x.dtype)


@in_numpy("nanvar")
def nanvar(a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: Any = UNSET) -> Any:
    """Return variances of what is not NaN."""
    x = as_traced(a)
    if x.dtype.kind != "f" or dtype is not None:
        return np.var(x, axis, dtype, ddof=ddof, keepdims=keepdims)
    nan = np.isnan(x)
    middle = np.nanmean(x, axis, keepdims=True)
    away = np.where(nan, np.zeros(1, x.dtype), x - middle)
    left = np.sum(~nan, axis, keepdims=keepdims) - ddof
    found = np.sum(away * away, axis, keepdims=keepdims) / np.where(left > 0, left, 1).astype(x.dtype)
    return np.where(left > 0, found, np.array(np.nan, x.dtype))


@in_numpy("nanstd")
def nanstd(a: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: Any = UNSET) -> Any:
    """Return standard deviations of what is not NaN."""
    return np.sqrt(np.nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))


in_numpy("shape", on_known=True)(lambda a: as_traced(a).shape)
in_numpy("ndim", on_known=True)(lambda a: as_traced(a).ndim)
in_numpy("iscomplexobj", on_known=True)(lambda x: as_traced(x).dtype.kind == "c")
in_numpy("isrealobj", on_known=True)(lambda x: as_traced(x).dtype.kind != "c")


@in_numpy("size", on_known=True)
def size(a: Any, axis: Any = None) -> Any:
    """Return the number of elements, or of those along an axis."""
    x = as_traced(a)
    return x.size if axis is None else x.shape[axis]


@in_numpy("result_type", on_known=True)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """Return the dtype that all are promoted to."""
    given = [as_traced(one).example if hasattr(one, "static_shape") else one for one in arrays_and_dtypes]
    return np.result_type(*given)

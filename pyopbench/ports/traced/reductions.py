"""Sums, extremes and other numbers along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from numpy.exceptions import AxisError

from pyopbench.ports.traced import dtypes
from pyopbench.ports.traced.array import TracedArray, as_traced
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.float_functions import is_nan
from pyopbench.ports.traced.registry import in_numpy, in_tensors, only
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.ufuncs import as_truth
from pyopbench.ports.traced.untyped import np

UNSET: Any = np._NoValue


def axes_of(axis: Any, rank: int) -> list[int]:
    """Return axes counted from the first; None is all of them."""
    if axis is None:
        return list(range(rank))
    several = axis if isinstance(axis, list | tuple) else [axis]
    for one in several:
        if not -rank <= int(one) < rank:
            raise np.exceptions.AxisError(int(one), rank) if hasattr(np, "exceptions") else AxisError(int(one), rank)
    return [int(one) % rank for one in several]


def returned(function: Any, x: TracedArray, **options: Any) -> Any:
    """Return the dtype that a function of NumPy's returns for such an array, by calling it."""
    return np.asarray(function(np.ones((1,) * x.ndim, x.dtype), **options)).dtype


def _is_set(value: Any) -> bool:
    return value is not UNSET and value is not None


def _keep(keepdims: Any) -> bool:
    return bool(keepdims) if keepdims is not UNSET else False


def _masked(x: TracedArray, tensor: Any, where: Any, neutral: Any) -> Any:
    """Return a tensor in which what is not asked for is the neutral element."""
    if not _is_set(where) or where is True:
        return tensor
    mask = as_tensor(as_traced(where).value, bool)
    return tf.where(mask, tensor, tf.constant(neutral, tensor.dtype))


def _reduction(name: str, reduce: Callable[..., Any], neutral: Any, combine: Callable[..., Any]) -> None:
    numpys = getattr(np, name)

    @in_tensors(name)
    def function(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = UNSET
    ) -> Any:
        x = as_traced(a)
        kind = returned(numpys, x) if dtype is None else np.dtype(dtype)
        axes = axes_of(axis, x.ndim)
        tensor = _masked(x, as_tensor(x.value, kind), where, neutral)
        found = _narrow(reduce, tensor, axes, keep=_keep(keepdims))
        return combine(found, as_tensor(as_traced(initial).value, kind)) if _is_set(initial) else found


def _narrow(reduce: Callable[..., Any], tensor: Any, axes: list[int], *, keep: bool) -> Any:
    if tensor.dtype in (tf.bool,):
        return tf.cast(reduce(tf.cast(tensor, tf.int32), axes, keep), tf.bool)
    return reduce(tensor, axes, keep)


_reduction("sum", tf.reduce_sum, 0, tf.add)
_reduction("prod", tf.reduce_prod, 1, tf.multiply)


@in_tensors("mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = UNSET, where: Any = UNSET) -> Any:
    """Return means; of integers and truth values in float64."""
    x = as_traced(a)
    kind = returned(np.mean, x) if dtype is None else np.dtype(dtype)
    axes, keep = axes_of(axis, x.ndim), _keep(keepdims)
    inner = np.dtype(np.float32) if kind == np.float16 else kind
    tensor = as_tensor(x.value, inner)
    if _is_set(where):
        mask = tf.broadcast_to(as_tensor(as_traced(where).value, bool), tf.shape(tensor))
        total = tf.reduce_sum(tf.where(mask, tensor, tf.zeros((), tensor.dtype)), axes, keep)
        return dtypes.cast(total / tf.reduce_sum(dtypes.cast(mask, inner), axes, keep), kind)
    return dtypes.cast(tf.reduce_sum(tensor, axes, keep) / _count(tensor, axes), kind)


def _count(tensor: Any, axes: list[int]) -> Any:
    sizes = tf.gather(tf.shape(tensor, tf.int64), tf.constant(axes, tf.int64))
    return tf.cast(tf.reduce_prod(sizes), tensor.dtype)


@in_tensors("var")
def var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: Any = UNSET, correction: Any = UNSET,
    mean: Any = UNSET, where: Any = UNSET,
) -> Any:  # fmt: skip
    """Return variances, from the differences to the mean."""
    only("var", where=where, mean=mean)
    x = as_traced(a)
    kind = returned(np.var, x) if dtype is None else np.dtype(dtype)
    if kind == np.float16:
        raise refuse("np.var", why="is not traced for float16")
    less = correction if _is_set(correction) else ddof
    axes = axes_of(axis, x.ndim)
    tensor = as_tensor(x.value, np.result_type(x.dtype, kind) if x.dtype.kind in "fc" else kind)
    count = _count(tensor, axes)
    away = tensor - tf.reduce_sum(tensor, axes, keepdims=True) / count
    square = tf.math.real(away * tf.math.conj(away)) if tensor.dtype.is_complex else tf.square(away)
    left = tf.maximum(tf.math.real(count) - tf.constant(less, square.dtype), tf.zeros((), square.dtype))
    return dtypes.cast(tf.reduce_sum(square, axes, _keep(keepdims)) / left, kind)


@in_numpy("std")
def std(a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, **options: Any) -> Any:
    """Return standard deviations."""
    return np.sqrt(np.var(a, axis, dtype, ddof=ddof, **options))


def _extreme(names: tuple[str, ...], reduce: Callable[..., Any], combine: Callable[..., Any]) -> None:
    @in_tensors(*names)
    def function(a: Any, axis: Any = None, *, keepdims: Any = UNSET, initial: Any = UNSET, where: Any = UNSET) -> Any:
        only(names[0], where=where)
        x = as_traced(a)
        axes, keep = axes_of(axis, x.ndim), _keep(keepdims)
        _refuse_empty(x, axes, initial)
        tensor = x.tensor
        if x.dtype.kind == "c":
            raise refuse(f"np.{names[0]}", why="is not traced for complex numbers")
        if x.dtype.kind == "b":
            return tf.cast(reduce(tf.cast(tensor, tf.int32), axes, keep), tf.bool)
        found = reduce(tensor, axes, keep)
        if x.dtype.kind == "f":
            found = tf.where(tf.reduce_any(is_nan(tensor), axes, keep), tf.constant(np.nan, tensor.dtype), found)
        return combine(found, as_tensor(as_traced(initial).value, x.dtype)) if _is_set(initial) else found


def _refuse_empty(x: TracedArray, axes: list[int], initial: Any) -> None:
    """Raise what NumPy does of the extreme of no elements, of which TensorFlow makes an infinity."""
    if any(x.static_shape[axis] == 0 for axis in axes) and not _is_set(initial):
        raise ValueError("zero-size array to reduction operation which has no identity")


_extreme(("max", "amax"), tf.reduce_max, tf.maximum)
_extreme(("min", "amin"), tf.reduce_min, tf.minimum)


@in_tensors("any")
def any_of(a: Any, axis: Any = None, *, keepdims: Any = UNSET, where: Any = UNSET) -> Any:
    """Return whether any is true."""
    x = as_traced(a)
    tensor = _masked(x, as_truth(x.tensor), where, neutral=False)
    return tf.reduce_any(tensor, axes_of(axis, x.ndim), _keep(keepdims))


@in_tensors("all")
def all_of(a: Any, axis: Any = None, *, keepdims: Any = UNSET, where: Any = UNSET) -> Any:
    """Return whether all are true."""
    x = as_traced(a)
    tensor = _masked(x, as_truth(x.tensor), where, neutral=True)
    return tf.reduce_all(tensor, axes_of(axis, x.ndim), _keep(keepdims))


@in_tensors("count_nonzero")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Return how many are not 0."""
    x = as_traced(a)
    return tf.reduce_sum(tf.cast(as_truth(x.tensor), tf.int64), axes_of(axis, x.ndim), bool(keepdims))


def _place_of_extreme(name: str, find: Callable[..., Any]) -> None:
    @in_tensors(name)
    def function(a: Any, axis: Any = None, *, keepdims: Any = UNSET) -> Any:
        x = as_traced(a)
        if x.dtype.kind == "c":
            raise refuse(f"np.{name}", why="is not traced for complex numbers")
        tensor = tf.cast(x.tensor, tf.int32) if x.dtype.kind == "b" else x.tensor
        if axis is None:
            flat = find(_nan_first(tf.reshape(tensor, [-1]), name, 0), 0, tf.int64)
            return tf.reshape(flat, [1] * x.ndim) if _keep(keepdims) else flat
        (place,) = axes_of(axis, x.ndim)
        _refuse_empty(x, [place], None)
        found = find(_nan_first(tensor, name, place), place, tf.int64)
        return tf.expand_dims(found, place) if _keep(keepdims) else found


def _nan_first(tensor: Any, name: str, axis: int) -> Any:
    """Return a tensor whose extreme is where NumPy finds it: at the first NaN if there is one."""
    if not tensor.dtype.is_floating:
        return tensor
    nan = is_nan(tensor)
    mark = tf.cast(nan, tensor.dtype)
    return tf.where(tf.reduce_any(nan, axis, keepdims=True), mark if name == "argmax" else -mark, tensor)


_place_of_extreme("argmax", tf.argmax)
_place_of_extreme("argmin", tf.argmin)


def _running(name: str, numpys: Any, run: Callable[..., Any]) -> None:
    @in_tensors(name)
    def function(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        x = as_traced(a)
        kind = returned(numpys, x) if dtype is None else np.dtype(dtype)
        tensor = as_tensor(x.value, kind)
        if kind.kind == "b":
            raise refuse(f"np.{name}(..., dtype=bool)")
        if axis is None or x.ndim == 0:
            return run(tf.reshape(tensor, [-1]), 0)
        return run(tensor, axes_of(axis, x.ndim)[0])


_running("cumsum", np.cumsum, tf.cumsum)
_running("cumprod", np.cumprod, tf.math.cumprod)


def _scanned(combine: Callable[..., Any]) -> Callable[..., Any]:
    """Return a running extreme along an axis, in as many passes as the logarithm of its length."""

    def scan(tensor: Any, axis: int) -> Any:
        size = tensor.shape[axis]
        if size is None:
            raise refuse("np.maximum.accumulate", why="needs a length that is known before the graph runs")
        moved = tf.experimental.numpy.moveaxis(tensor, axis, 0)
        step = 1
        while step < size:
            moved = tf.concat([moved[:step], combine(moved[step:], moved[:-step])], 0)
            step *= 2
        return tf.experimental.numpy.moveaxis(moved, 0, axis)

    return scan


def _nan_kept(combine: Callable[..., Any]) -> Callable[..., Any]:
    def both(x: Any, y: Any) -> Any:
        found = combine(x, y)
        return tf.where(is_nan(x), x, tf.where(is_nan(y), y, found)) if x.dtype.is_floating else found

    return both


_running("maximum.accumulate", np.maximum.accumulate, _scanned(_nan_kept(tf.maximum)))
_running("minimum.accumulate", np.minimum.accumulate, _scanned(_nan_kept(tf.minimum)))

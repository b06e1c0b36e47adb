"""Sums, extremes and other numbers along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from numpy.exceptions import AxisError

from pyopbench.ports.tracing import dtypes
from pyopbench.ports.tracing.array import TracedArray, as_traced
from pyopbench.ports.tracing.call_ufunc import as_tensor
from pyopbench.ports.tracing.registry import in_tensors
from pyopbench.ports.tracing.ufuncs import as_truth
from pyopbench.ports.tracing.untyped import np

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

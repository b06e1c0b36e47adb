"""Elements picked by conditions and places."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.traced import dtypes, indexing
from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_numpy, in_tensors
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.ufuncs import as_truth
from pyopbench.ports.traced.untyped import np


@in_tensors("where")
def where(condition: Any, *choices: Any) -> Any:
    """Return elements of one array or another; or where a condition is true, as an array for each axis."""
    truth = as_truth(as_traced(condition).tensor)
    if not choices:
        return _places(truth)
    x, y = map(as_traced, choices)
    kind = dtypes.common([x.example, y.example])
    for choice in (x, y):
        dtypes.check_range(choice, kind)
    return tf.where(truth, as_tensor(x.value, kind), as_tensor(y.value, kind))


def _places(truth: Any) -> tuple[Any, ...]:
    if truth.shape.rank == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return tuple(tf.unstack(tf.where(truth), num=truth.shape.rank, axis=1))


@in_tensors("nonzero")
def nonzero(a: Any) -> Any:
    """Return where elements are not 0, as an array for each axis."""
    return _places(as_truth(as_traced(a).tensor))


@in_tensors("flatnonzero")
def flatnonzero(a: Any) -> Any:
    """Return where elements are not 0, counted in one axis."""
    return tf.where(tf.reshape(as_truth(as_traced(a).tensor), [-1]))[:, 0]


@in_tensors("argwhere")
def argwhere(a: Any) -> Any:
    """Return where elements are not 0, one row for each."""
    return tf.where(as_truth(as_traced(a).tensor))


@in_tensors("take")
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    """Return elements by their places along an axis."""
    x, index = as_traced(a), as_traced(indices)
    tensor = tf.reshape(x.tensor, [-1]) if axis is None else x.tensor
    (place,) = axes_of(0 if axis is None else axis, tensor.shape.rank)
    size = tf.shape(tensor, tf.int64)[place]
    wanted = tf.cast(index.tensor, tf.int64)
    if mode == "clip":
        wanted = tf.clip_by_value(wanted, tf.constant(0, tf.int64), size - 1)
    elif mode == "wrap":
        wanted = tf.math.floormod(wanted, size)
    key = (slice(None),) * place
    if index.is_known and mode == "raise":
        return indexing.get(tensor, (*key, index.value if index.ndim else int(index.value)))
    return indexing.get(tensor, (*key, wanted))


@in_numpy("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Return elements by places along an axis, other ones for each row."""
    x, index = as_traced(arr), as_traced(indices)
    if axis is None:
        return np.ravel(x)[index]
    return x[_along(x, index, axis)]


def _along(x: Any, index: Any, axis: Any) -> tuple[Any, ...]:
    (place,) = axes_of(axis, x.ndim)
    if index.ndim != x.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    key: list[Any] = []
    for one in range(x.ndim):
        if one == place:
            key.append(index)
        else:
            size = x.static_shape[one]
            if size is None:
                raise refuse("np.take_along_axis", why="needs a shape that is known before the graph runs")
            key.append(np.arange(size).reshape((-1,) + (1,) * (x.ndim - one - 1)))
    return tuple(key)


@in_numpy("put_along_axis", on_known=True)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """Replace elements by their places along an axis."""
    if axis is None:
        raise refuse("np.put_along_axis(..., axis=None)")
    arr[_along(as_traced(arr), as_traced(indices), axis)] = values


@in_numpy("compress")
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """Return what a condition picks along an axis."""
    (places,) = np.nonzero(as_traced(condition))
    return np.take(as_traced(a), places, axis=axis)


@in_numpy("extract")
def extract(condition: Any, arr: Any) -> Any:
    """Return the elements where a condition is true."""
    return np.ravel(as_traced(arr))[np.ravel(as_traced(condition)) != 0]


@in_numpy("choose")
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """Return of each place the element of the array with that number."""
    if mode != "raise":
        raise refuse(f"np.choose(..., mode={mode!r})")
    index, *arrays = np.broadcast_arrays(as_traced(a), *(as_traced(one) for one in choices))
    return np.take_along_axis(np.stack(arrays), index[None], axis=0)[0]


@in_numpy("select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Return the element of the first array whose condition is true, else a default."""
    kind = np.result_type(*(as_traced(one).example for one in choicelist), as_traced(default).example)
    found = as_traced(default).astype(kind)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        found = np.where(condition, as_traced(choice).astype(kind), found)
    return found


@in_tensors("clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None, dtype: Any = None) -> Any:
    """Return elements not below one bound and not above another."""
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    x = as_traced(a)
    for bound, extreme in ((low, np.maximum), (high, np.minimum)):
        if bound is not None:
            x = as_traced(extreme(x, bound))
    return x.tensor if dtype is None else dtypes.cast(x.tensor, dtype)


@in_tensors("round", "around", "round_")
def round_to(a: Any, decimals: int = 0) -> Any:
    """Return elements rounded to decimals, halves to even."""
    x = as_traced(a)
    if x.dtype.kind in "iu" and decimals >= 0:
        return tf.identity(x.tensor)
    if x.dtype.kind not in "f":
        raise refuse("np.round", why=f"is not traced for {x.dtype} and {decimals} decimals")
    power = tf.constant(10.0 ** abs(int(decimals)), x.tensor.dtype)
    if decimals == 0:
        return tf.round(x.tensor)
    return tf.round(x.tensor * power) / power if decimals > 0 else tf.round(x.tensor / power) * power


@in_numpy("fix")
def fix(x: Any) -> Any:
    """Return elements rounded towards 0."""
    return np.trunc(as_traced(x))


@in_numpy("ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """Return places in an array as places in one axis."""
    if order != "C" or mode != "raise":
        raise refuse("np.ravel_multi_index(..., order=, mode=)")
    found: Any = 0
    for index, size in zip(multi_index, dims, strict=True):
        found = found * size + as_traced(index).astype(np.int64)
    return found


@in_numpy("unravel_index")
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Return places in one axis as places in an array."""
    if order != "C":
        raise refuse("np.unravel_index(..., order='F')")
    left, found = as_traced(indices).astype(np.int64), []
    for size in reversed(shape if isinstance(shape, list | tuple) else (shape,)):
        found.append(left % size)
        left = left // size
    return tuple(reversed(found))

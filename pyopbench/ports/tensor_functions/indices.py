"""Elements selected by position, and positions as indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.tensor_functions.basics import np_axes, np_moved
from pyopbench.ports.tensor_functions.shapes import np_broadcast_arrays
from pyopbench.ports.tensor_functions.table import of_numpy


@of_numpy("np.ix_", args="own")
def np_ix(*args: Any) -> Any:
    """Return vectors as indices of all their combinations; for booleans, the indices at which they are true."""
    count = len(args)
    flat = [tf.where(one)[:, 0] if one.dtype == tf.bool else one for one in args]
    return tuple(tf.reshape(one, [1] * at + [-1] + [1] * (count - 1 - at)) for at, one in enumerate(flat))


@of_numpy("np.diag_indices_from", arr="own")
def np_diag_indices_from(arr: Any) -> Any:
    """Return the indices of the diagonal of an array, along each axis."""
    return (tf.range(tf.shape(arr, tf.int64)[0]),) * arr.shape.rank


@of_numpy("np.tril_indices_from", arr="own")
def np_tril_indices_from(arr: Any, k: int = 0) -> Any:
    """Return the indices of the lower triangle of a matrix."""
    return tuple(tf.constant(one) for one in np.tril_indices(arr.shape[-2], k, arr.shape[-1]))


@of_numpy("np.triu_indices_from", arr="own")
def np_triu_indices_from(arr: Any, k: int = 0) -> Any:
    """Return the indices of the upper triangle of a matrix."""
    return tuple(tf.constant(one) for one in np.triu_indices(arr.shape[-2], k, arr.shape[-1]))


@of_numpy("np.take", a="own", indices="number")
def np_take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Return the elements at positions along an axis, or among all elements."""
    a = tf.reshape(a, [-1]) if axis is None else a
    (place,) = np_axes(0 if axis is None else axis, a.shape.rank)
    size = tf.shape(a, tf.int64)[place]
    wanted = tf.cast(indices, tf.int64)
    if mode == "clip":
        wanted = tf.clip_by_value(wanted, tf.constant(0, tf.int64), size - 1)
    elif mode == "wrap":
        wanted = tf.math.floormod(wanted, size)
    else:
        wanted = tf.where(wanted < 0, wanted + size, wanted)
    return tf.gather(a, wanted, axis=place)


@of_numpy("np.take_along_axis", arr="own", indices="int64")
def np_take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Return the elements at positions along an axis, which may differ from row to row."""
    if axis is None:
        return np_take(arr, indices)
    if indices.shape.rank != arr.shape.rank:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    moved, wanted = np_moved(arr, axis, -1), np_moved(indices, axis, -1)
    rows = tf.broadcast_dynamic_shape(tf.shape(moved)[:-1], tf.shape(wanted)[:-1])
    moved = tf.broadcast_to(moved, tf.concat([rows, tf.shape(moved)[-1:]], 0))
    wanted = tf.broadcast_to(wanted, tf.concat([rows, tf.shape(wanted)[-1:]], 0))
    wanted = tf.where(wanted < 0, wanted + tf.shape(moved, tf.int64)[-1], wanted)
    last = arr.shape.rank - 1
    return np_moved(tf.gather(moved, wanted, axis=last, batch_dims=last), -1, axis)


@of_numpy("np.compress", condition="bool", a="own")
def np_compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """Return the elements that a condition selects along an axis, or among all elements."""
    a = tf.reshape(a, [-1]) if axis is None else a
    return tf.gather(a, tf.where(condition)[:, 0], axis=0 if axis is None else axis)


@of_numpy("np.extract", condition="bool", arr="own")
def np_extract(condition: Any, arr: Any) -> Any:
    """Return the elements where a condition is true."""
    return tf.gather(tf.reshape(arr, [-1]), tf.where(tf.reshape(condition, [-1]))[:, 0])


@of_numpy("np.choose", a="int64", choices="*common")
def np_choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Return for each position the element of the array with that number."""
    if mode != "raise":
        raise NotImplementedError(f"is not supported for mode={mode!r}")
    several = tf.unstack(choices) if tf.is_tensor(choices) else choices
    index, *arrays = np_broadcast_arrays(a, *several)
    return np_take_along_axis(tf.stack(arrays), index[None], axis=0)[0]


@of_numpy("np.ravel_multi_index", multi_index="*int64")
def np_ravel_multi_index(multi_index: Any, dims: Any, mode: str = "raise", order: str = "C") -> Any:
    """Return indices into an array as positions among all elements."""
    if order != "C" or mode != "raise":
        raise NotImplementedError("is supported only for order='C' and mode='raise'")
    several = tf.unstack(multi_index) if tf.is_tensor(multi_index) else multi_index
    found = several[0]
    for index, size in zip(several[1:], dims[1:], strict=True):
        found = found * size + index
    return found


@of_numpy("np.unravel_index", indices="int64")
def np_unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Return positions among all elements as indices into an array, one for each axis."""
    if order != "C":
        raise NotImplementedError("is supported only for order='C'")
    left, found = indices, []
    for size in reversed(shape if isinstance(shape, (list, tuple)) else (shape,)):
        found.append(left % size)
        left = left // size
    return tuple(reversed(found))

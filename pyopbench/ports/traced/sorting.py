"""Sorted orders, by NumPy's rules: ties keep their order, and NaN comes last."""

from __future__ import annotations

import collections
from typing import Any

import tensorflow as tf

from pyopbench.ports.traced.array import as_traced, wrap
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.dtypes import NEP50
from pyopbench.ports.traced.float_functions import is_nan
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_numpy, in_tensors, only
from pyopbench.ports.traced.tape import refuse, step
from pyopbench.ports.traced.untyped import np

UniqueAll = collections.namedtuple("UniqueAll", ["values", "indices", "inverse_indices", "counts"])


def keys_of(tensor: Any) -> Any:
    """Return integers that are in order where NumPy takes the elements to be: NaN the largest, -0.0 equal to 0.0."""
    if tensor.dtype.is_complex:
        raise refuse("np.sort", why="is not traced for complex numbers")
    if not tensor.dtype.is_floating:
        if tensor.dtype == tf.uint64:
            raise refuse("np.sort", why="is not traced for uint64")
        return tf.cast(tensor, tf.int64 if tensor.dtype.size >= 4 else tf.int32)
    if tensor.dtype == tf.float16:
        tensor = tf.cast(tensor, tf.float32)
    whole = tf.int32 if tensor.dtype == tf.float32 else tf.int64
    tensor = tf.where(tf.equal(tensor, tf.zeros((), tensor.dtype)), tf.zeros((), tensor.dtype), tensor)
    bits = tf.bitcast(tensor, whole)
    # The bits of negative floats grow with their magnitude: all but the sign are turned over.
    ordered = tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, tf.constant(whole.max, whole)), bits)
    return tf.where(is_nan(tensor), tf.constant(whole.max, whole), ordered)


def order_of(tensor: Any, axis: int) -> Any:
    """Return the places of the elements in ascending order along an axis, int64; ties keep their order."""
    return tf.cast(tf.argsort(keys_of(tensor), axis=axis, stable=True), tf.int64)


@in_tensors("argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return the places of the elements in ascending order."""
    only("argsort", order=order)
    x = as_traced(a)
    tensor = tf.reshape(x.tensor, [-1]) if axis is None or x.ndim == 0 else x.tensor
    return order_of(tensor, axes_of(-1 if axis is None else axis, tensor.shape.rank)[0])


@in_tensors("sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return the elements in ascending order."""
    only("sort", order=order)
    x = as_traced(a)
    tensor = tf.reshape(x.tensor, [-1]) if axis is None or x.ndim == 0 else x.tensor
    return sorted_along(tensor, axes_of(-1 if axis is None else axis, tensor.shape.rank)[0])


def sorted_along(tensor: Any, axis: int) -> Any:
    """Return the elements of a tensor in ascending order along an axis."""
    last = tensor.shape.rank - 1
    moved = tensor if axis == last else _exchanged(tensor, axis)
    found = tf.gather(moved, order_of(moved, last), axis=last, batch_dims=last)
    return found if axis == last else _exchanged(found, axis)


def _exchanged(tensor: Any, axis: int) -> Any:
    order = list(range(tensor.shape.rank))
    order[axis], order[-1] = order[-1], order[axis]
    return tf.transpose(tensor, order)


in_numpy("partition")(lambda a, kth, axis=-1, kind="introselect", order=None: np.sort(a, axis))
in_numpy("argpartition")(lambda a, kth, axis=-1, kind="introselect", order=None: np.argsort(a, axis, kind="stable"))


@in_numpy("lexsort")
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Return the order by several keys, of which the last counts first."""
    arrays = [as_traced(one) for one in keys]
    if arrays[0].ndim != 1:
        raise refuse("np.lexsort", why="is traced for keys of one axis")
    order = np.argsort(arrays[0], kind="stable")
    for key in arrays[1:]:
        order = order[np.argsort(key[order], kind="stable")]
    return order


@in_tensors("searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where values would have to be put into a sorted array."""
    x, values = as_traced(a), as_traced(v)
    kind = np.result_type(x.dtype, values.dtype)
    tensor = as_tensor(x.value, kind)
    if sorter is not None:
        tensor = tf.gather(tensor, as_traced(sorter).tensor)
    sought = as_tensor(values.value, kind)
    found = tf.searchsorted(keys_of(tensor), tf.reshape(keys_of(sought), [-1]), side, tf.int64)
    return tf.ensure_shape(tf.reshape(found, tf.shape(sought)), sought.shape)


@in_numpy("digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Return the number of the bin of each element; bins ascend or descend."""
    edges = as_traced(bins)
    side = "left" if right else "right"
    if edges.ndim != 1:
        raise ValueError("object of too small depth for desired array")
    # As NumPy decides it, of NaN too: by the first edge that is another one than the first.
    differs = edges[1:] != edges[:1]
    is_next = differs & (np.cumsum(differs) == 1)
    ascends = ~np.any(differs) | np.any(is_next & (edges[:1] < edges[1:]))
    wrong = np.where(ascends, np.any(edges[:-1] > edges[1:]), np.any(edges[:-1] < edges[1:]))
    if edges.is_known:
        if wrong:
            raise ValueError("bins must be monotonically increasing or decreasing")
        if ascends:
            return np.searchsorted(edges, x, side)
        return edges.static_shape[0] - np.searchsorted(edges[::-1], x, side)
    upwards = np.searchsorted(edges, x, side)
    downwards = edges.shape[0] - np.searchsorted(edges[::-1], x, side)
    is_sorted, value = as_traced(~wrong).value, as_traced(np.where(ascends, upwards, downwards)).value
    return wrap(step("digitize", lambda: _required(is_sorted, value)))


def _required(is_sorted: Any, value: Any) -> Any:
    checked = tf.debugging.Assert(is_sorted, ["bins must be monotonically increasing or decreasing"])
    with tf.control_dependencies([checked]):
        return tf.identity(value)


def _groups(tensor: Any) -> tuple[Any, Any]:
    """Return the order of elements or rows, and where in it the next larger one begins; a row with NaN equals none."""
    keys = keys_of(tensor)
    if keys.shape.rank == 1:
        order = order_of(tensor, 0)
        ordered = tf.gather(keys, order)
        differs = tf.not_equal(ordered[1:], ordered[:-1])
    else:
        order = tf.range(tf.shape(keys, tf.int64)[0])
        for column in reversed(tf.unstack(keys, axis=1)):
            order = tf.gather(order, tf.argsort(tf.gather(column, order), stable=True))
        ordered = tf.gather(keys, order)
        has_nan = tf.reduce_any(is_nan(tf.gather(tensor, order)), 1)
        differs = tf.reduce_any(tf.not_equal(ordered[1:], ordered[:-1]), 1) | has_nan[1:]
    return order, tf.concat([tf.ones_like(order[:1], tf.bool), differs], 0)


@in_tensors("unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return each element once, ascending; if asked for, where each is first, which each is, and how many there are."""
    x = as_traced(ar)
    of_rows = axis is not None and x.ndim > 1
    if not equal_nan or (of_rows and (axis != 0 or x.ndim != 2 or not x.static_shape[1])):
        raise refuse("np.unique(..., axis=..., equal_nan=False)")
    flat = x.tensor if of_rows else tf.reshape(x.tensor, [-1])
    order, new = _groups(flat)
    first = tf.boolean_mask(order, new)
    found = [tf.gather(flat, first)]
    number = tf.cumsum(tf.cast(new, tf.int64)) - 1
    if return_index:
        found.append(first)
    if return_inverse:
        inverse = tf.scatter_nd(order[:, None], number, tf.shape(order, tf.int64))
        found.append(tf.reshape(inverse, tf.shape(x.tensor)) if NEP50 and not of_rows else inverse)
    if return_counts:
        found.append(tf.math.unsorted_segment_sum(tf.ones_like(number), number, tf.size(first, tf.int64)))
    return tuple(found) if len(found) > 1 else found[0]


@in_numpy("isin", "in1d")
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Return whether each element is among others."""
    x, others = as_traced(element), np.ravel(as_traced(test_elements))
    found = np.any(x[..., None] == others, axis=-1)
    return ~found if invert else found


def _of_sets(name: str, choose: Any) -> None:
    @in_numpy(name)
    def function(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
        return choose(np.unique(as_traced(ar1)), np.unique(as_traced(ar2)))


_of_sets("intersect1d", lambda x, y: x[isin(x, y)])
_of_sets("setdiff1d", lambda x, y: x[isin(x, y, invert=True)])
_of_sets("union1d", lambda x, y: np.unique(np.concatenate([x, y])))
_of_sets("setxor1d", lambda x, y: np.sort(np.concatenate([x[isin(x, y, invert=True)], y[isin(y, x, invert=True)]])))

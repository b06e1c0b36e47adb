"""Sorted orders by NumPy's rules, by which ties keep their order and NaN comes last, and what is made of them."""

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_axes,
    np_checked,
    np_gathered,
    np_is_nan,
    np_moved,
    np_sizes,
    np_with_axes,
)
from pyopbench.ports.functions.table import helper


def np_keys(tensor):
    """Return integers that are in order where NumPy takes the elements to be: NaN the largest, -0.0 equal to 0.0."""
    if tensor.dtype.is_complex or tensor.dtype == tf.uint64:
        raise NotImplementedError(f"is not supported for {tensor.dtype.name}")
    if not tensor.dtype.is_floating:
        return tf.cast(tensor, tf.int64 if tensor.dtype.size >= 4 else tf.int32)
    if tensor.dtype == tf.float16:
        tensor = tf.cast(tensor, tf.float32)
    whole = tf.int32 if tensor.dtype == tf.float32 else tf.int64
    tensor = tf.where(tf.equal(tensor, tf.zeros((), tensor.dtype)), tf.zeros((), tensor.dtype), tensor)
    bits = tf.bitcast(tensor, whole)
    # The bits of negative floats grow with their magnitude: all but the sign are turned over.
    ordered = tf.where(bits < 0, tf.bitwise.bitwise_xor(bits, tf.constant(whole.max, whole)), bits)
    return tf.where(np_is_nan(tensor), tf.constant(whole.max, whole), ordered)


@helper("np.argsort", a="own")
def np_argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Return the places of the elements in ascending order, int64; ties keep their order."""
    if axis is None or a.shape.rank == 0:
        a, axis = tf.reshape(a, [-1]), 0
    return tf.cast(tf.argsort(np_keys(a), axis=axis, stable=True), tf.int64)


@helper("np.sort", a="own")
def np_sort(a, axis=-1, kind=None, order=None, *, stable=None):
    """Return the elements in ascending order."""
    if axis is None or a.shape.rank == 0:
        a, axis = tf.reshape(a, [-1]), 0
    moved = np_moved(a, axis, -1)
    last = moved.shape.rank - 1
    found = tf.gather(moved, np_argsort(moved), axis=last, batch_dims=last)
    return np_moved(found, -1, axis)


@helper("np.partition", a="own")
def np_partition(a, kth, axis=-1, kind="introselect"):
    """Return the elements in an order in which the kth ones are where they would be if all were sorted."""
    return np_sort(a, axis)


@helper("np.argpartition", a="own")
def np_argpartition(a, kth, axis=-1, kind="introselect"):
    """Return places of elements in an order in which the kth ones are where they would be if all were sorted."""
    return np_argsort(a, axis)


@helper("np.searchsorted", a="common", v="common", sorter="int64")
def np_searchsorted(a, v, side="left", sorter=None):
    """Return where values would have to be put into a sorted array, int64."""
    if sorter is not None:
        a = tf.gather(a, sorter)
    found = tf.searchsorted(np_keys(a), tf.reshape(np_keys(v), [-1]), side, tf.int64)
    return tf.ensure_shape(tf.reshape(found, tf.shape(v)), v.shape)


@helper("np.digitize", x="common", bins="common")
def np_digitize(x, bins, right=False):
    """Return the number of the bin of each element; an error if bins neither ascend nor descend, NaN as the largest."""
    keys = np_keys(bins)
    # NumPy takes edges of which the first two that differ do not ascend as numbers, such as 1 and NaN, to descend.
    all_equal, rises = tf.reduce_all(tf.equal(bins[:-1], bins[1:])), tf.reduce_any(bins[:-1] < bins[1:])
    is_ascending = all_equal | (rises & tf.reduce_all(keys[:-1] <= keys[1:]))
    is_ordered = is_ascending | tf.reduce_all(keys[:-1] >= keys[1:])
    bins = np_checked(bins, is_ordered, "bins must be monotonically increasing or decreasing")
    side = "left" if right else "right"
    upwards = np_searchsorted(bins, x, side)
    downwards = tf.size(bins, tf.int64) - np_searchsorted(tf.reverse(bins, [0]), x, side)
    return tf.where(is_ascending, upwards, downwards)


def np_groups(tensor):
    """Return the order of elements or rows, and where in it the next larger one begins; a row with NaN equals none."""
    keys = np_keys(tensor)
    if keys.shape.rank == 1:
        order = np_argsort(tensor)
        ordered = tf.gather(keys, order)
        differs = tf.not_equal(ordered[1:], ordered[:-1])
    else:
        order = tf.range(tf.shape(keys, tf.int64)[0])
        for column in reversed(tf.unstack(keys, axis=1)):
            order = tf.gather(order, tf.argsort(tf.gather(column, order), stable=True))
        ordered = tf.gather(keys, order)
        has_nan = tf.reduce_any(np_is_nan(tf.gather(tensor, order)), 1)
        differs = tf.reduce_any(tf.not_equal(ordered[1:], ordered[:-1]), 1) | has_nan[1:]
    return order, tf.concat([tf.ones_like(order[:1], tf.bool), differs], 0)


@helper("np.unique", ar="own")
def np_unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None):
    """Return each element once, ascending; if asked for, where each is first, which each is, and how many there are."""
    of_rows = axis is not None and ar.shape.rank > 1
    if of_rows and ar.shape.rank != 2:
        raise NotImplementedError("is supported only for the rows or columns of a matrix")
    flat = np_moved(ar, axis, 0) if of_rows else tf.reshape(ar, [-1])
    if of_rows and not flat.shape[1]:
        raise NotImplementedError("needs a shape that is known before the graph runs")
    order, new = np_groups(flat)
    first = tf.boolean_mask(order, new)
    values = tf.gather(flat, first)
    found = [np_moved(values, 0, axis) if of_rows else values]
    number = tf.cumsum(tf.cast(new, tf.int64)) - 1
    if return_index:
        found.append(first)
    if return_inverse:
        inverse = tf.scatter_nd(order[:, None], number, tf.shape(order, tf.int64))
        in_shape = int(np.__version__.split(".")[0]) >= 2 and not of_rows
        found.append(tf.ensure_shape(tf.reshape(inverse, tf.shape(ar)), ar.shape) if in_shape else inverse)
    if return_counts:
        found.append(tf.math.unsorted_segment_sum(tf.ones_like(number), number, tf.size(first, tf.int64)))
    return tuple(found) if len(found) > 1 else found[0]


@helper("np.isin", element="common", test_elements="common")
def np_isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """Return whether each element is among others."""
    found = tf.reduce_any(tf.equal(element[..., None], tf.reshape(test_elements, [-1])), -1)
    return ~found if invert else found


def np_nan_where(has_nan, found):
    """Return floats with NaN at some places."""
    return tf.where(has_nan, tf.constant(np.nan, found.dtype), found) if found.dtype.is_floating else found


@helper("np.median", a="float")
def np_median(a, axis=None, *, keepdims=False):
    """Return the middle elements, of an even number the mean of both; NaN where there is any."""
    flat, axes = np_gathered(a, axis)
    ordered = np_sort(flat)
    count = np_sizes(flat)[-1]
    middle = tf.reduce_mean(ordered[..., (count - 1) // 2 : count // 2 + 1], -1)
    found = np_nan_where(tf.reduce_any(np_is_nan(flat), -1), middle)
    return np_with_axes(found, axes, keepdims)


def np_quantiles(ordered, count, shares):
    """Return what is at shares of the way along the last axis of sorted arrays; shares become the first axes.

    `count` is how many elements count, of each array or of all.
    """
    rank = ordered.shape.rank - 1
    is_whole = shares.dtype.is_integer  # 0 or 1: the first or the last element, in its own dtype
    shares = tf.cast(shares, tf.float64) if is_whole else shares
    if not is_whole and ordered.dtype.size < shares.dtype.size:
        ordered = tf.cast(ordered, shares.dtype)
    shares = tf.reshape(shares, tf.concat([tf.shape(shares), [1] * rank], 0))
    last = tf.cast(count, shares.dtype) - 1
    place = shares * last
    # As NumPy does it where the place is that of an element, too: 0 times the distance to an infinite one is NaN.
    low = np_at(ordered, tf.cast(tf.floor(place), tf.int64))
    if is_whole:
        return low
    high = np_at(ordered, tf.cast(tf.minimum(tf.floor(place) + 1, last), tf.int64))
    way = tf.cast(place - tf.floor(place), ordered.dtype)
    apart = high - low
    return tf.where(way >= 0.5, high - apart * (1 - way), low + apart * way)


def np_at(ordered, places):
    """Return elements along the last axis; places are broadcast against the other axes, and kept inside."""
    size = tf.shape(ordered, tf.int64)[-1]
    places = tf.clip_by_value(places, tf.constant(0, tf.int64), tf.maximum(size - 1, 0))
    rank = ordered.shape.rank - 1
    if rank == 0:
        return tf.gather(ordered, places)
    leading = places.shape.rank - rank
    shape = tf.concat([tf.shape(places)[:leading], tf.shape(ordered)[:-1]], 0)
    places = tf.broadcast_to(places, shape)
    places = np_moved(tf.reshape(places, tf.concat([[-1], shape[leading:]], 0)), 0, -1)
    rows = tf.reshape(places, tf.concat([tf.shape(ordered)[:-1], [-1]], 0))
    found = tf.gather(ordered, rows, axis=rank, batch_dims=rank)
    return tf.reshape(np_moved(found, -1, 0), shape)


def np_not_empty(ordered):
    """Return arrays with one element along the last axis if there is none, so that it can be looked up."""
    if ordered.shape[-1]:
        return ordered
    is_empty = tf.cast(tf.equal(tf.shape(ordered)[-1], 0), tf.int32)
    return tf.pad(ordered, [*[[0, 0]] * (ordered.shape.rank - 1), [0, is_empty]])


@helper("np.quantile", a="own", q="whole or like a")
def np_quantile(a, q, axis=None, *, keepdims=False):
    """Return quantiles; NaN where there is any."""
    if a.dtype == tf.bool:
        raise NotImplementedError("is not supported for truth values")
    is_between = not q.dtype.is_integer and not a.dtype.is_floating
    flat, axes = np_gathered(tf.cast(a, tf.float64) if is_between else a, axis)
    found = np_quantiles(np_sort(flat), tf.shape(flat)[-1], q)
    found = np_nan_where(tf.reduce_any(np_is_nan(flat), -1), found)
    return np_with_axes(found, [q.shape.rank + one for one in axes], keepdims)


@helper("np.percentile", a="own", q="like a")
def np_percentile(a, q, axis=None, *, keepdims=False):
    """Return percentiles; NaN where there is any."""
    return np_quantile(a, (tf.cast(q, tf.float64) if q.dtype.is_integer else q) / 100, axis, keepdims=keepdims)


@helper("np.nanmedian", a="float")
def np_nanmedian(a, axis=None, *, keepdims=False):
    """Return the middle of the elements that are not NaN; NaN where there are none."""
    flat, axes = np_gathered(a, axis)
    ordered = np_not_empty(np_sort(flat))
    count = tf.reduce_sum(tf.cast(~np_is_nan(flat), tf.int64), -1)
    low, high = np_at(ordered, (count - 1) // 2), np_at(ordered, count // 2)
    middle = tf.where(tf.equal(low, high), low, (low + high) / 2)
    return np_with_axes(np_nan_where(tf.equal(count, 0), middle), axes, keepdims)


@helper("np.nanpercentile", a="own", q="like a")
def np_nanpercentile(a, q, axis=None, *, keepdims=False):
    """Return percentiles of the elements that are not NaN; NaN where there are none."""
    if not a.dtype.is_floating:
        return np_percentile(a, q, axis, keepdims=keepdims)
    shares = (tf.cast(q, tf.float64) if q.dtype.is_integer else q) / 100
    flat, axes = np_gathered(a, axis)
    if 0 in a.shape.as_list():  # for which NumPy has one NaN, of however many shares
        nothing = tf.fill(np_sizes(flat)[:-1], tf.constant(np.nan, flat.dtype))
        return np_with_axes(nothing, axes, keepdims)
    count = tf.reduce_sum(tf.cast(~np_is_nan(flat), tf.int64), -1)
    found = np_nan_where(tf.equal(count, 0), np_quantiles(np_not_empty(np_sort(flat)), count, shares))
    return np_with_axes(found, [shares.shape.rank + one for one in axes], keepdims)


@helper("np.max np.amax", a="own")
def np_max(a, axis=None, *, keepdims=False, initial=None):
    """Return the largest elements; NaN where there is any."""
    return np_extreme(a, axis, keepdims, initial, largest=True)


@helper("np.min np.amin", a="own")
def np_min(a, axis=None, *, keepdims=False, initial=None):
    """Return the smallest elements; NaN where there is any."""
    return np_extreme(a, axis, keepdims, initial, largest=False)


def np_extreme(a, axis, keepdims, initial, largest):
    """Return the largest or smallest elements; NaN where there is any."""
    axes = np_axes(axis, a.shape.rank)
    np_refuse_empty(a, axes, initial)
    if a.dtype == tf.bool:
        return (tf.reduce_any if largest else tf.reduce_all)(a, axes, keepdims)
    found = (tf.reduce_max if largest else tf.reduce_min)(a, axes, keepdims)
    found = np_nan_where(tf.reduce_any(np_is_nan(a), axes, keepdims), found)
    if initial is None:
        return found
    return tf.where(np_is_nan(found), found, (tf.maximum if largest else tf.minimum)(found, initial))


def np_refuse_empty(tensor, axes, initial):
    """Raise what NumPy does of the extreme of no elements, of which TensorFlow makes an infinity."""
    if tensor.dtype.is_complex:
        raise NotImplementedError("is not supported for complex numbers")
    if initial is None and any(tensor.shape[axis] == 0 for axis in axes):
        raise ValueError("zero-size array to reduction operation which has no identity")


@helper("np.argmax", a="own")
def np_argmax(a, axis=None, *, keepdims=False):
    """Return where the largest element is, the first of equal ones; of NaN if there is any."""
    return np_place(a, axis, keepdims, largest=True)


@helper("np.argmin", a="own")
def np_argmin(a, axis=None, *, keepdims=False):
    """Return where the smallest element is, the first of equal ones; of NaN if there is any."""
    return np_place(a, axis, keepdims, largest=False)


def np_place(a, axis, keepdims, largest):
    """Return where the largest or smallest element is, int64."""
    tensor = tf.reshape(a, [-1]) if axis is None else a
    (place,) = np_axes(0 if axis is None else axis, tensor.shape.rank)
    np_refuse_empty(tensor, [place], None)
    if tensor.dtype == tf.bool:
        tensor = tf.cast(tensor, tf.int32)
    if tensor.dtype.is_floating:
        nan = np_is_nan(tensor)
        mark = tf.cast(nan, tensor.dtype)
        tensor = tf.where(tf.reduce_any(nan, place, keepdims=True), mark if largest else -mark, tensor)
    found = (tf.argmax if largest else tf.argmin)(tensor, place, tf.int64)
    if not keepdims:
        return found
    return tf.reshape(found, [1] * a.shape.rank) if axis is None else tf.expand_dims(found, place)


@helper("np.ix_", args="own")
def np_ix(*args):
    """Return vectors as indices of all their combinations; for booleans, the indices at which they are true."""
    count = len(args)
    flat = [tf.where(one)[:, 0] if one.dtype == tf.bool else one for one in args]
    return tuple(tf.reshape(one, [1] * at + [-1] + [1] * (count - 1 - at)) for at, one in enumerate(flat))


@helper("np.take", a="own", indices="number")
def np_take(a, indices, axis=None):
    """Return the elements at positions along an axis, or among all elements."""
    a = tf.reshape(a, [-1]) if axis is None else a
    (place,) = np_axes(0 if axis is None else axis, a.shape.rank)
    wanted = tf.cast(indices, tf.int64)
    return tf.gather(a, tf.where(wanted < 0, wanted + tf.shape(a, tf.int64)[place], wanted), axis=place)


@helper("np.take_along_axis", arr="own", indices="int64")
def np_take_along_axis(arr, indices, axis=-1):
    """Return the elements at positions along an axis, which may differ from row to row."""
    if axis is None:
        return np_take(arr, indices)
    moved, wanted = np_moved(arr, axis, -1), np_moved(indices, axis, -1)
    rows = tf.broadcast_dynamic_shape(tf.shape(moved)[:-1], tf.shape(wanted)[:-1])
    moved = tf.broadcast_to(moved, tf.concat([rows, tf.shape(moved)[-1:]], 0))
    wanted = tf.broadcast_to(wanted, tf.concat([rows, tf.shape(wanted)[-1:]], 0))
    wanted = tf.where(wanted < 0, wanted + tf.shape(moved, tf.int64)[-1], wanted)
    last = arr.shape.rank - 1
    return np_moved(tf.gather(moved, wanted, axis=last, batch_dims=last), -1, axis)


@helper("np.unravel_index", indices="int64")
def np_unravel_index(indices, shape):
    """Return positions among all elements as indices into an array, one for each axis."""
    left, found = indices, []
    for size in reversed(shape if isinstance(shape, (list, tuple)) else (shape,)):
        found.append(left % size)
        left = left // size
    return tuple(reversed(found))

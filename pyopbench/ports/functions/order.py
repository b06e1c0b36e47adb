"""Elements in other places: in order, by which ties stay as they are and NaN comes last; moved, repeated, cut apart."""

import itertools

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_axes,
    np_checked,
    np_gathered,
    np_is_nan,
    np_known_size,
    np_moved,
    np_number,
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
def np_argsort(a, axis=-1, kind=None, *, stable=None):
    """Return the places of the elements in ascending order, int64; ties keep their order."""
    if axis is None or a.shape.rank == 0:
        a, axis = tf.reshape(a, [-1]), 0
    return tf.cast(tf.argsort(np_keys(a), axis=axis, stable=True), tf.int64)


@helper("np.sort", a="own")
def np_sort(a, axis=-1, kind=None, *, stable=None):
    """Return the elements in ascending order."""
    if axis is None or a.shape.rank == 0:
        a, axis = tf.reshape(a, [-1]), 0
    moved = np_moved(a, axis, -1)
    last = moved.shape.rank - 1
    found = tf.gather(moved, np_argsort(moved), axis=last, batch_dims=last)
    return np_moved(found, -1, axis)


@helper("np.searchsorted", a="common", v="common")
def np_searchsorted(a, v, side="left"):
    """Return where values would have to be put into a sorted array, int64."""
    found = tf.searchsorted(np_keys(a), tf.reshape(np_keys(v), [-1]), side, tf.int64)
    return tf.ensure_shape(tf.reshape(found, tf.shape(v)), v.shape)


@helper("np.digitize", x="common", bins="common")
def np_digitize(x, bins, right=False):
    """Return the number of the bin of each element; bins have to ascend, and none may be NaN."""
    bins = np_checked(bins, tf.reduce_all(bins[1:] >= bins[:-1]), "bins must be monotonically increasing")
    return np_searchsorted(bins, x, "left" if right else "right")


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
    of_rows = axis == 0 and ar.shape.rank == 2 and ar.shape[1]
    if axis is not None and ar.shape.rank > 1 and not of_rows:
        raise NotImplementedError("along an axis is supported only for the rows of a matrix")
    flat = ar if of_rows else tf.reshape(ar, [-1])
    order, new = np_groups(flat)
    first = tf.boolean_mask(order, new)
    number = tf.cumsum(tf.cast(new, tf.int64)) - 1
    found = [tf.gather(flat, first)]
    if return_index:
        found.append(first)
    if return_inverse:
        inverse = tf.scatter_nd(order[:, None], number, tf.shape(order, tf.int64))
        in_shape = int(np.__version__.split(".")[0]) >= 2 and not of_rows
        found.append(tf.ensure_shape(tf.reshape(inverse, tf.shape(ar)), ar.shape) if in_shape else inverse)
    if return_counts:
        found.append(tf.math.unsorted_segment_sum(tf.ones_like(number), number, tf.size(first, tf.int64)))
    return tuple(found) if len(found) > 1 else found[0]


def np_nan_where(has_nan, found):
    """Return floats with NaN at some places."""
    return tf.where(has_nan, tf.constant(np.nan, found.dtype), found) if found.dtype.is_floating else found


@helper("np.median", a="float")
@helper("np.nanmedian", "skips_nan=True", a="float")
def np_median(a, axis=None, *, keepdims=False, skips_nan=False):
    """Return the middle elements, of an even number the mean of both; NaN where there is any, or none is left."""
    flat, axes = np_gathered(a, axis)
    ordered = np_sort(tf.pad(flat, [[0, 0]] * len(flat.shape[1:]) + [[0, 1]], constant_values=np.nan))  # never empty
    count = tf.reduce_sum(tf.cast(~np_is_nan(flat), tf.int64), -1, keepdims=True)
    low, high = np_at(ordered, (count - 1) // 2), np_at(ordered, count // 2)
    middle = tf.where(tf.equal(low, high), low, (low + high) / 2)
    is_missing = tf.equal(count, 0)
    if not skips_nan:
        is_missing |= tf.reduce_any(np_is_nan(flat), -1, keepdims=True)
    return np_with_axes(np_nan_where(is_missing, middle)[..., 0], axes, keepdims)


def np_at(ordered, places):
    """Return elements of each vector along the last axis, at places of its own, which are kept inside."""
    last = tf.shape(ordered, tf.int64)[-1] - 1
    rank = ordered.shape.rank - 1
    return tf.gather(ordered, tf.minimum(tf.maximum(places, 0), last), axis=rank, batch_dims=rank)


@helper("np.percentile", a="own")
@helper("np.nanpercentile", "skips_nan=True", a="own")
def np_percentile(a, q, axis=None, *, keepdims=False, skips_nan=False):
    """Return percentiles; NaN where there is any, or none is left. The percentages q are known before the graph runs.

    A percentage that is a number has the precision of the elements, as in NumPy.
    """
    if a.dtype == tf.bool or np.ndim(q) > 1:
        raise NotImplementedError(f"is not supported for {a.dtype.name} and q={q!r}")
    of_elements = type(q) in (int, float) and a.dtype.is_floating
    shares = np.asarray(np.asarray(q) / 100, a.dtype.as_numpy_dtype if of_elements else None)
    flat, axes = np_gathered(a if a.dtype.is_floating else tf.cast(a, tf.float64), axis)
    ordered = tf.cast(np_sort(flat), np.result_type(flat.dtype.as_numpy_dtype, shares.dtype))
    is_number = tf.cast(~np_is_nan(flat), tf.int64)
    count = tf.reduce_sum(is_number, -1, keepdims=True)
    place = (tf.cast(count, shares.dtype) - 1) * shares.reshape(-1)
    begin = tf.floor(place)
    # As NumPy does it where the place is that of an element, too: 0 times the distance to an infinite one is NaN.
    low = np_at(ordered, tf.cast(begin, tf.int64))
    high = np_at(ordered, tf.minimum(tf.cast(begin, tf.int64) + 1, count - 1))
    way = tf.cast(place - begin, ordered.dtype)
    found = tf.where(way >= 0.5, high - (high - low) * (1 - way), low + (high - low) * way)
    is_missing = tf.equal(count, 0) if skips_nan else tf.reduce_any(np_is_nan(flat), -1, keepdims=True)
    found = np_nan_where(is_missing, found)
    found = np_moved(found, -1, 0) if shares.ndim else found[..., 0]
    return np_with_axes(found, [shares.ndim + one for one in axes], keepdims)


@helper("np.max np.amax", a="own")
@helper("np.min np.amin", "largest=False", a="own")
def np_extreme(a, axis=None, *, keepdims=False, initial=None, largest=True):
    """Return the largest or smallest elements; NaN where there is any."""
    axes = np_axes(axis, a.shape.rank)
    a = np_refuse_empty(a, axes, initial)
    if a.dtype == tf.bool:
        return (tf.reduce_any if largest else tf.reduce_all)(a, axes, keepdims)
    found = (tf.reduce_max if largest else tf.reduce_min)(a, axes, keepdims)
    found = np_nan_where(tf.reduce_any(np_is_nan(a), axes, keepdims), found)
    if initial is None:
        return found
    return tf.where(np_is_nan(found), found, (tf.maximum if largest else tf.minimum)(found, initial))


def np_refuse_empty(tensor, axes, initial):
    """Return a tensor; if an axis is empty, raise as NumPy does, where TensorFlow would return an infinity."""
    if tensor.dtype.is_complex:
        raise NotImplementedError("is not supported for complex numbers")
    if initial is None and any(tensor.shape[axis] == 0 for axis in axes):
        raise ValueError("zero-size array to reduction operation which has no identity")
    unknown = [axis for axis in axes if tensor.shape[axis] is None]
    if initial is not None or not unknown:
        return tensor
    return np_checked(tensor, tf.reduce_all(tf.gather(tf.shape(tensor), unknown) > 0), "a max or min of no elements")


@helper("np.argmax", a="own")
@helper("np.argmin", "largest=False", a="own")
def np_place_of_extreme(a, axis=None, *, keepdims=False, largest=True):
    """Return where the largest or smallest element is, the first of equal ones, int64; of NaN if there is any."""
    tensor = tf.reshape(a, [-1]) if axis is None else a
    (place,) = np_axes(0 if axis is None else axis, tensor.shape.rank)
    tensor = np_refuse_empty(tensor, [place], None)
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


@helper("np.take", a="own", indices="number")
def np_take(a, indices, axis=None):
    """Return the elements at positions along an axis, or among all elements."""
    a = tf.reshape(a, [-1]) if axis is None else a
    (place,) = np_axes(0 if axis is None else axis, a.shape.rank)
    wanted = tf.cast(indices, tf.int64)
    return tf.gather(a, tf.where(wanted < 0, wanted + tf.shape(a, tf.int64)[place], wanted), axis=place)


@helper("np.unravel_index", indices="int64")
def np_unravel_index(indices, shape):
    """Return positions among all elements as indices into an array, one for each axis."""
    left, found = indices, []
    for size in reversed(shape if isinstance(shape, (list, tuple)) else (shape,)):
        found.append(left % size)
        left = left // size
    return tuple(reversed(found))


@helper("np.flip", m="own")
def np_flip(m, axis=None):
    """Return an array with the elements along axes in reverse."""
    return tf.reverse(m, np_axes(axis, m.shape.rank))


@helper("np.insert", arr="own", values="own")
def np_insert(arr, obj, values):
    """Return all elements as a vector, with values before a place."""
    if not isinstance(obj, (int, np.integer)):
        raise NotImplementedError("is supported only for one place that is known before the graph runs")
    flat, size = tf.reshape(arr, [-1]), tf.size(arr)
    flat = np_checked(flat, (-size <= obj) & (obj <= size), "index is out of bounds")
    return tf.concat([flat[:obj], tf.reshape(tf.cast(values, arr.dtype), [-1]), flat[obj:]], 0)


@helper("np.tile", A="own", reps="number")
def np_tile(A, reps):
    """Return an array repeated as a whole."""
    times = list(reps) if isinstance(reps, (list, tuple)) else [reps]
    rank = max(len(times), A.shape.rank)
    spread = tf.reshape(A, [1] * (rank - A.shape.rank) + np_sizes(A))
    return tf.tile(spread, [1] * (rank - len(times)) + times)


@helper("np.pad", array="own", pad_width="number", constant_values="number")
def np_pad(array, pad_width, mode="constant", *, constant_values=0):
    """Return an array with a border; one that mirrors the array may not be wider than it."""
    rank = array.shape.rank
    if any(map(tf.is_tensor, tf.nest.flatten(pad_width))):
        pad_width = tf.nest.map_structure(lambda one: tf.cast(one, tf.int64), pad_width)
        every = tf.broadcast_to(tf.convert_to_tensor(pad_width), (rank, 2))
        array = np_checked(array, tf.reduce_all(every >= 0), "index can't contain negative values")
        widths = [tf.unstack(each) for each in tf.unstack(every)]
    else:
        widths = np.broadcast_to(np.asarray(pad_width), (rank, 2)).tolist()
    if mode == "constant":
        return tf.pad(array, widths, constant_values=np_number(constant_values, array.dtype))
    if mode in ("reflect", "symmetric"):
        return tf.pad(array, widths, mode)
    if mode != "edge" or 0 in array.shape.as_list():
        raise NotImplementedError(f"is not supported for mode={mode!r} and an array of shape {array.shape}")
    for axis, (size, (before, after)) in enumerate(zip(np_sizes(array), widths, strict=True)):
        last = tf.cast(size, tf.int64) - 1
        places = tf.range(-before, last + after + 1, dtype=tf.int64)
        array = tf.gather(array, tf.minimum(tf.maximum(places, 0), last), axis=axis)
    return array


@helper("np.split", ary="own", indices_or_sections="number")
def np_split(ary, indices_or_sections, axis=0):
    """Return equal parts of an array along an axis, or parts between places."""
    (place,), places = np_axes(axis, ary.shape.rank), indices_or_sections
    if isinstance(places, (int, np.integer)):
        return tf.split(ary, places, place)
    if tf.is_tensor(places):
        places = tf.unstack(places, np_known_size(places, 0))
    bounds = itertools.pairwise([0, *places, None])
    return [ary[(slice(None),) * place + (slice(begin, end),)] for begin, end in bounds]


@helper("np.meshgrid", xi="own")
def np_meshgrid(*xi, indexing="xy"):
    """Return the coordinates of a grid, one array for each axis."""
    places = tf.meshgrid(*[tf.range(tf.size(one)) for one in xi], indexing=indexing)  # of arrays, they are of one dtype
    return tuple(tf.gather(tf.reshape(one, [-1]), at) for one, at in zip(xi, places, strict=True))


def np_linspace(start, stop, num):
    """Return numbers in even steps between two, along a new first axis; of NaN all are NaN, unlike in TensorFlow."""
    if num < 2:
        raise NotImplementedError("needs two numbers at least")
    apart = stop - start
    places = tf.reshape(tf.cast(tf.range(num - 1), apart.dtype), [-1] + [1] * apart.shape.rank)
    found = places * (apart / (num - 1)) + start
    return tf.concat([found, (stop + tf.zeros_like(apart))[None]], 0)

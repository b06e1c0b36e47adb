"""Elements moved, repeated, joined and cut apart."""

import itertools

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_along,
    np_axes,
    np_checked,
    np_known_size,
    np_moved,
    np_number,
    np_sizes,
)
from pyopbench.ports.functions.table import helper


@helper("np.swapaxes", a="own")
def np_swapaxes(a, axis1, axis2):
    """Return an array with two axes exchanged."""
    first, second = np_axes([axis1, axis2], a.shape.rank)
    order = list(range(a.shape.rank))
    order[first], order[second] = second, first
    return tf.transpose(a, order)


@helper("np.moveaxis", a="own")
def np_moveaxis(a, source, destination):
    """Return an array with axes at other places."""
    return np_moved(a, source, destination)


@helper("np.flip", m="own")
def np_flip(m, axis=None):
    """Return an array with the elements along axes in reverse."""
    return tf.reverse(m, np_axes(axis, m.shape.rank))


@helper("np.rot90", m="own")
def np_rot90(m, k=1, axes=(0, 1)):
    """Return an array turned by right angles."""
    first, second = np_axes(list(axes), m.shape.rank)
    ways = [
        lambda: tf.identity(m),
        lambda: np_swapaxes(tf.reverse(m, [second]), first, second),
        lambda: tf.reverse(m, [first, second]),
        lambda: tf.reverse(np_swapaxes(m, first, second), [second]),
    ]
    return ways[k % 4]()


@helper("np.atleast_1d", arys="own")
def np_atleast_1d(*arys):
    """Return arrays with one axis at least."""
    found = [tf.reshape(one, [1]) if one.shape.rank == 0 else one for one in arys]
    return found[0] if len(found) == 1 else tuple(found)


@helper("np.atleast_2d", arys="own")
def np_atleast_2d(*arys):
    """Return arrays with two axes at least."""
    found = [tf.reshape(one, [1, -1]) if one.shape.rank < 2 else one for one in arys]
    return found[0] if len(found) == 1 else tuple(found)


@helper("np.append", arr="common", values="common")
def np_append(arr, values, axis=None):
    """Return an array with values behind it."""
    if axis is None:
        return tf.concat([tf.reshape(arr, [-1]), tf.reshape(values, [-1])], 0)
    return tf.concat([arr, values], axis)


@helper("np.insert", arr="own", values="own")
def np_insert(arr, obj, values, axis=None):
    """Return an array with values before a place."""
    if not isinstance(obj, (int, np.integer)):
        raise NotImplementedError("is supported only for one place that is known before the graph runs")
    arr = tf.reshape(arr, [-1]) if axis is None else arr
    (place,) = np_axes(0 if axis is None else axis, arr.shape.rank)
    sizes = np_sizes(arr)
    arr = np_checked(arr, (-sizes[place] <= obj) & (obj <= sizes[place]), "index is out of bounds")
    values = tf.reshape(tf.cast(values, arr.dtype), [1] * (arr.shape.rank - values.shape.rank) + np_sizes(values))
    values = np_moved(values, 0, place)
    sizes[place] = np_sizes(values)[place]
    before, after = arr[np_along(place, None, obj)], arr[np_along(place, obj, None)]
    return tf.concat([before, tf.broadcast_to(values, sizes), after], place)


@helper("np.tile", A="own", reps="number")
def np_tile(A, reps):
    """Return an array repeated as a whole."""
    if tf.is_tensor(reps):
        times = tf.reshape(reps, [-1])
        count = times.shape[0]
    else:
        times = list(reps) if isinstance(reps, (list, tuple)) else np.atleast_1d(reps).tolist()
        count = len(times)
    rank = max(count, A.shape.rank)
    spread = tf.reshape(A, [1] * (rank - A.shape.rank) + np_sizes(A)) if rank > A.shape.rank else A
    if tf.is_tensor(times):
        return tf.tile(spread, tf.concat([tf.ones([rank - count], times.dtype), times], 0))
    return tf.tile(spread, [1] * (rank - count) + times)


@helper("np.roll", a="own", shift="number")
def np_roll(a, shift, axis=None):
    """Return an array with elements moved around, along axes or among all."""
    if 0 in a.shape:
        return a
    if axis is None:
        total = sum(shift) if isinstance(shift, (list, tuple)) else shift
        return tf.ensure_shape(tf.reshape(tf.roll(tf.reshape(a, [-1]), total, 0), tf.shape(a)), a.shape)
    axes = np_axes(axis, a.shape.rank)
    shifts = list(shift) if isinstance(shift, (list, tuple)) else [shift] * len(axes)
    return tf.roll(a, shifts * len(axes) if len(shifts) == 1 else shifts, axes * (len(shifts) if len(axes) == 1 else 1))


@helper("np.pad", array="own", pad_width="number", constant_values="number")
def np_pad(array, pad_width, mode="constant", *, constant_values=0):
    """Return an array with a border."""
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
    if mode not in ("reflect", "symmetric", "edge", "wrap"):
        raise NotImplementedError(f"is not supported for mode={mode!r}")
    for axis, (size, each) in enumerate(zip(np_sizes(array), widths, strict=True)):
        if any(map(tf.is_tensor, each)) or each != [0, 0]:
            array = tf.gather(array, np_padded_places(size, each, mode), axis=axis)
    return array


def np_padded_places(size, widths, mode):
    """Return the position along an axis of each element of the padded axis, int64."""
    if not any(map(tf.is_tensor, [size, *widths])):
        return np.pad(np.arange(size), widths, mode)
    size, before, after = (tf.cast(one, tf.int64) for one in (size, *widths))
    places = np_checked(tf.range(-before, size + after), (size > 0) | (before + after == 0), "can't extend empty axis")
    if mode == "edge":
        return tf.clip_by_value(places, 0, size - 1)
    if mode == "wrap":
        return places % size
    period = 2 * size if mode == "symmetric" else tf.maximum(2 * size - 2, 1)
    places = places % tf.maximum(period, 1)
    return tf.minimum(places, period - places - 1 if mode == "symmetric" else period - places)


@helper("np.split", ary="own", indices_or_sections="number")
def np_split(ary, indices_or_sections, axis=0):
    """Return equal parts of an array along an axis, or parts between places."""
    (place,), places = np_axes(axis, ary.shape.rank), indices_or_sections
    if isinstance(places, (int, np.integer)):
        return tf.split(ary, places, place)
    if tf.is_tensor(places):
        places = tf.unstack(places, np_known_size(places, 0))
    return [ary[np_along(place, begin, end)] for begin, end in itertools.pairwise([0, *places, None])]


@helper("np.meshgrid", xi="own")
def np_meshgrid(*xi, indexing="xy"):
    """Return the coordinates of a grid, one array for each axis."""
    places = tf.meshgrid(*[tf.range(tf.size(one)) for one in xi], indexing=indexing)  # of arrays, they are of one dtype
    return tuple(tf.gather(tf.reshape(one, [-1]), at) for one, at in zip(xi, places, strict=True))


@helper("np.linspace", start="promoted float", stop="promoted float")
def np_linspace(start, stop, num=50, endpoint=True, *, dtype=None, axis=0):
    """Return numbers in even steps between two, along a new axis."""
    parts = num - 1 if endpoint else num
    apart = stop - start
    places = tf.reshape(tf.cast(tf.range(num), start.dtype), [-1] + [1] * apart.shape.rank)
    found = places * (apart / tf.cast(parts, start.dtype) if parts > 0 else apart) + start
    if endpoint and num > 1:
        found = tf.concat([found[:-1], (stop + tf.zeros_like(apart))[None]], 0)
    found = np_moved(found, 0, axis)
    if dtype is not None:
        wanted = tf.as_dtype(np.dtype(dtype))
        found = tf.cast(tf.floor(found) if wanted.is_integer else found, wanted)
    return found

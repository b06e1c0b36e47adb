"""Elements moved, repeated, padded and cut apart."""

import itertools

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import (
    np_along,
    np_axes,
    np_checked,
    np_known_size,
    np_number,
    np_sizes,
)
from pyopbench.ports.functions.table import helper


@helper("np.flip", m="own")
def np_flip(m, axis=None):
    """Return an array with the elements along axes in reverse."""
    return tf.reverse(m, np_axes(axis, m.shape.rank))


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
    return [ary[np_along(place, begin, end)] for begin, end in itertools.pairwise([0, *places, None])]


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

"""Functions of `scipy.ndimage`: filters along axes, and interpolation of order 0 and 1."""

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import np_axes, np_known_sizes, np_moved
from pyopbench.ports.functions.table import helper


def scipy_only_floats(tensor):
    """Raise for what SciPy rounds in its own way."""
    if not tensor.dtype.is_floating:
        raise NotImplementedError("rounds integers in its own way: use .astype(float)")


def scipy_along(tensor, weights, axis, mode, cval):
    """Return a correlation of floats with weights along an axis, computed in float64 as SciPy does."""
    size, before = np_known_sizes(tensor)[axis], len(weights) // 2
    if size == 0:
        return tensor
    # SciPy's names of what is beyond the edges, and NumPy's; with a constant, there is one element more.
    modes = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}
    if mode not in modes:
        raise NotImplementedError(f"is not supported for mode={mode!r}")
    beyond = {"constant_values": size} if mode == "constant" else {}
    places = np.pad(np.arange(size), (before, len(weights) - before - 1), modes[mode], **beyond)
    moved = np_moved(tf.cast(tensor, tf.float64), axis, -1)
    moved = tf.concat([moved, tf.fill(tf.shape(moved[..., :1]), tf.constant(cval, tf.float64))], -1)
    windows = tf.gather(moved, places[np.arange(size)[:, None] + np.arange(len(weights))], axis=-1)
    return np_moved(tf.cast(tf.reduce_sum(windows * weights, -1), tensor.dtype), -1, axis)


def scipy_gaussian(sigma, truncate, radius):
    """Return the weights of a Gaussian filter."""
    reach = int(truncate * float(sigma) + 0.5) if radius is None else int(radius)
    power = np.exp(-0.5 / float(sigma) ** 2 * np.arange(-reach, reach + 1) ** 2)
    return power / power.sum()


@helper("scipy.ndimage.gaussian_filter", input="own")
def scipy_gaussian_filter(input, sigma, *, mode="reflect", cval=0.0, truncate=4.0, radius=None, axes=None):
    """Return a Gaussian filter along axes."""
    scipy_only_floats(input)
    places = np_axes(axes, input.shape.rank)
    sigmas = [sigma] * len(places) if np.ndim(sigma) == 0 else list(sigma)
    reaches = [radius] * len(places) if np.ndim(radius) == 0 else list(radius)
    found = input
    for axis, one, reach in zip(places, sigmas, reaches, strict=True):
        if one > 1e-15:  # as SciPy does
            found = scipy_along(found, scipy_gaussian(one, truncate, reach), axis, mode, cval)
    return found


@helper("scipy.ndimage.map_coordinates", input="own", coordinates="float64")
def scipy_map_coordinates(input, coordinates, *, order=3, mode="constant", cval=0.0, prefilter=True):
    """Return elements between those of an array, of order 0 or 1."""
    scipy_only_floats(input)
    # Between two elements that are as near as each other, SciPy takes another one beyond an edge.
    modes = ("nearest", "constant", "reflect", "mirror") if order == 1 else ("nearest", "constant")
    if order not in (0, 1) or mode not in modes:
        raise NotImplementedError(f"is not supported for order={order} and mode={mode!r}")
    sizes = np_known_sizes(input)
    if 0 in sizes:
        raise NotImplementedError("is not supported for an array without elements")
    places = [coordinates[axis] for axis in range(input.shape.rank)]
    for axis, size in enumerate(sizes):
        if size == 1 and mode in ("reflect", "mirror"):  # folded to its one element, from however far
            places[axis] = tf.where(tf.math.is_nan(places[axis]), places[axis], tf.zeros_like(places[axis]))
    found = tf.zeros((), tf.float64)
    for corner in np.ndindex(*[order + 1] * input.shape.rank):
        weight, index = tf.ones((), tf.float64), []
        for axis, upper in enumerate(corner):
            begin = tf.floor(places[axis] + (0.5 if order == 0 else 0.0))
            if order:
                share = places[axis] - begin
                weight = weight * (share if upper else 1 - share)
            index.append(scipy_mapped(tf.cast(begin, tf.int64) + upper, sizes[axis], mode))
        found = found + tf.cast(tf.gather_nd(input, tf.stack(index, -1)), tf.float64) * weight
    outside = tf.constant(cval, tf.float64)
    for place, size in zip(places, sizes, strict=True):
        if mode == "constant":
            found = tf.where((place >= 0) & (place <= size - 1), found, outside)  # cval for NaN
        elif mode != "nearest":
            # NaN is folded to no place in the image, and nothing that 64 bits cannot count (`ni_interpolation.c`).
            found = tf.where(tf.abs(place) < 2.0**63, found, outside)
    return tf.cast(found, input.dtype)


def scipy_mapped(index, size, mode):
    """Return indices into an axis of those into what it goes on with beyond its edges."""
    if mode in ("nearest", "constant") or size == 1:
        return tf.clip_by_value(index, tf.constant(0, tf.int64), tf.constant(size - 1, tf.int64))
    period = 2 * size if mode == "reflect" else 2 * size - 2
    inside = tf.math.floormod(index, period)
    return tf.minimum(inside, (period - 1 if mode == "reflect" else period) - inside)

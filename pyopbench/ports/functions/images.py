"""Functions of `scipy.ndimage`: filters along axes, and interpolation of order 0 and 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.ports.functions.basics import np_axes, np_known_sizes, np_moved
from pyopbench.ports.functions.table import helper


def scipy_only_floats(tensor: Any) -> None:
    """Raise for what SciPy rounds in its own way."""
    if not tensor.dtype.is_floating:
        raise NotImplementedError("rounds integers in its own way: use .astype(float)")


def scipy_padded(size: int, before: int, after: int, mode: str) -> Any:
    """Return the places in an axis of an axis with more on both sides; `size` is what is beyond the edges."""
    # SciPy's names of what is beyond the edges, and NumPy's.
    modes = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant",
             "grid-wrap": "wrap", "grid-mirror": "symmetric", "grid-constant": "constant"}  # fmt: skip
    if mode not in modes:
        raise NotImplementedError(f"is not supported for mode={mode!r}")
    if modes[mode] == "constant":
        return np.pad(np.arange(size), (before, after), "constant", constant_values=size)
    kind: Any = modes[mode]
    return np.pad(np.arange(size), (before, after), kind)


def scipy_along(tensor: Any, weights: Any, axis: int, mode: str, cval: float, origin: int = 0) -> Any:
    """Return a correlation of floats with weights along an axis, computed in float64 as SciPy does."""
    size = np_known_sizes(tensor)[axis]
    if size == 0:
        return tensor
    weights = np.asarray(weights, float)
    before = len(weights) // 2 + origin
    places = scipy_padded(size, before, len(weights) - before - 1, mode)
    moved = np_moved(tf.cast(tensor, tf.float64), axis, -1)
    moved = tf.concat([moved, tf.fill(tf.shape(moved[..., :1]), tf.constant(cval, tf.float64))], -1)
    windows = tf.gather(moved, places[np.arange(size)[:, None] + np.arange(len(weights))], axis=-1)
    return np_moved(tf.cast(tf.reduce_sum(windows * weights, -1), tensor.dtype), -1, axis)


def scipy_gaussian(sigma: Any, truncate: float, radius: Any) -> Any:
    """Return the weights of a Gaussian filter."""
    reach = int(truncate * float(sigma) + 0.5) if radius is None else int(radius)
    power = np.exp(-0.5 / float(sigma) ** 2 * np.arange(-reach, reach + 1) ** 2)
    return power / power.sum()


@helper("scipy.ndimage.gaussian_filter1d", input="own")
def scipy_gaussian_filter1d(
    input: Any, sigma: float, axis: int = -1, order: int = 0, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    """Return a Gaussian filter along an axis."""
    scipy_only_floats(input)
    if order or output is not None:
        raise NotImplementedError("is not supported with order= or output=")
    (place,) = np_axes(axis, input.shape.rank)
    return scipy_along(input, scipy_gaussian(sigma, truncate, radius), place, mode, cval)


@helper("scipy.ndimage.gaussian_filter", input="own")
def scipy_gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: str = "reflect", cval: float = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    """Return a Gaussian filter along axes."""
    scipy_only_floats(input)
    if np.any(order) or output is not None or not isinstance(mode, str):
        raise NotImplementedError("is not supported with order= or output=, or with several modes")
    places = np_axes(axes, input.shape.rank)
    sigmas = [sigma] * len(places) if np.ndim(sigma) == 0 else list(sigma)
    reaches = [radius] * len(places) if np.ndim(radius) == 0 else list(radius)
    found = input
    for axis, one, reach in zip(places, sigmas, reaches, strict=True):
        if one > 1e-15:  # as SciPy does
            found = scipy_along(found, scipy_gaussian(one, truncate, reach), axis, mode, cval)
    return found


def scipy_correlate(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: float = 0.0, origin: int = 0
) -> Any:
    """Return a correlation with an array of weights."""
    scipy_only_floats(input)
    if output is not None or origin:
        raise NotImplementedError("is not supported with output= or origin=")
    found = tf.cast(input, tf.float64)
    sizes, widths = np_known_sizes(input), np_known_sizes(weights)
    for axis, (size, width) in enumerate(zip(sizes, widths, strict=True)):
        places = scipy_padded(size, width // 2, width - width // 2 - 1, mode)
        edge = tf.fill(tf.shape(tf.gather(found, [0], axis=axis)), tf.constant(cval, tf.float64))
        found = tf.gather(tf.concat([found, edge], axis), places, axis=axis)
    total = tf.zeros(sizes, tf.float64)
    for corner in np.ndindex(*widths):
        part = found[tuple(slice(begin, begin + size) for begin, size in zip(corner, sizes, strict=True))]
        total = total + part * weights[corner]
    return tf.cast(total, input.dtype)


@helper("scipy.ndimage.convolve", input="own", weights="float64")
def scipy_convolve(
    input: Any, weights: Any, output: Any = None, mode: str = "reflect", cval: float = 0.0, origin: int = 0
) -> Any:
    """Return a convolution with an array of weights, of an odd number along each axis."""
    if any(size % 2 == 0 for size in np_known_sizes(weights)):
        raise NotImplementedError("is supported only for an odd number of weights along each axis")
    turned = tf.reverse(weights, list(range(weights.shape.rank)))
    return scipy_correlate(input, turned, output, mode, cval, origin)


@helper("scipy.ndimage.map_coordinates", input="own", coordinates="float64")
def scipy_map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: float = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    """Return elements between those of an array, of order 0 or 1."""
    scipy_only_floats(input)
    # Between two elements that are as near as each other, SciPy takes another one beyond an edge.
    modes = ("nearest", "constant", "reflect", "mirror") if order == 1 else ("nearest", "constant")
    if output is not None or order not in (0, 1) or mode not in modes:
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


def scipy_mapped(index: Any, size: int, mode: str) -> Any:
    """Return indices into an axis of those into what it goes on with beyond its edges."""
    if mode in ("nearest", "constant") or size == 1:
        return tf.clip_by_value(index, tf.constant(0, tf.int64), tf.constant(size - 1, tf.int64))
    period = 2 * size if mode == "reflect" else 2 * size - 2
    inside = tf.math.floormod(index, period)
    return tf.minimum(inside, (period - 1 if mode == "reflect" else period) - inside)


@helper("scipy.ndimage.affine_transform", input="own", matrix="float64", offset="float64")
def scipy_affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: float = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    """Return an array at places that are a matrix times those of the result, and an offset, of order 0 or 1."""
    rank = input.shape.rank
    matrix, offset = tf.convert_to_tensor(matrix, tf.float64), tf.convert_to_tensor(offset, tf.float64)
    if matrix.shape.rank == 1:
        matrix = tf.linalg.diag(matrix)
    if matrix.shape.as_list()[-1] == rank + 1:  # homogeneous coordinates
        matrix, offset = matrix[:rank, :rank], matrix[:rank, rank]
    sizes = np_known_sizes(input) if output_shape is None else [int(one) for one in output_shape]
    grid = tf.constant(np.indices(sizes).reshape(rank, -1), tf.float64)
    places = tf.matmul(matrix, grid) + tf.reshape(tf.broadcast_to(offset, [rank]), [rank, 1])
    return scipy_map_coordinates(input, tf.reshape(places, [rank, *sizes]), output, order, mode, cval)

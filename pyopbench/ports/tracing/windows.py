"""Windows that slide over an array, as a view of it."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import views
from pyopbench.ports.tracing.array import as_traced
from pyopbench.ports.tracing.raising import required
from pyopbench.ports.tracing.reductions import axes_of
from pyopbench.ports.tracing.registry import in_numpy
from pyopbench.ports.tracing.shaping import sizes_of
from pyopbench.ports.tracing.tape import refuse
from pyopbench.ports.tracing.untyped import np

NAME = "lib.stride_tricks.sliding_window_view"
TOO_LARGE = "window shape cannot be larger than input array shape"


@in_numpy(NAME, on_known=True)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Return all windows of a shape, their axes behind those of the array."""
    whole, sizes = as_traced(x), sizes_of(window_shape)
    if writeable or any(map(tf.is_tensor, sizes)):
        raise refuse(f"np.{NAME}", why="is traced for windows of a known shape that nothing is written to")
    axes = tuple(range(whole.ndim)) if axis is None else tuple(axes_of(axis, whole.ndim))
    if len(axes) != len(sizes):
        raise ValueError("Since axis is None, must provide window_shape for all dimensions of `x`")
    if any(size < 0 for size in sizes):
        raise ValueError("`window_shape` cannot contain negative values")
    known = [whole.static_shape[one] for one in axes]
    if any(one is not None and one < size for one, size in zip(known, sizes, strict=True)):
        raise ValueError(TOO_LARGE)
    return whole.seen_through(
        views.ReadOnly(
            "sliding_window_view",
            lambda array: np.lib.stride_tricks.sliding_window_view(array, sizes, axes),
            lambda tensor: _windows(tensor, sizes, axes),
        )
    )


def _windows(tensor: Any, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    found = tensor
    for size, axis in zip(sizes, axes, strict=True):
        found = _along(found, size, axis)
    return found


def _along(tensor: Any, size: int, axis: int) -> Any:
    """Return windows along an axis, which keeps its place; the elements of a window are along a new last axis."""
    static = tensor.shape[axis]
    if static is not None:
        places: Any = np.arange(static - size + 1)[:, None] + np.arange(size)
    else:
        count = tf.shape(tensor)[axis]
        with tf.control_dependencies([required(count >= size, f"ValueError: {TOO_LARGE}")]):
            places = tf.range(count - size + 1)[:, None] + tf.range(size)
    found = tf.gather(tensor, places, axis=axis)
    order = [one for one in range(found.shape.rank) if one != axis + 1]
    return tf.transpose(found, [*order, axis + 1])

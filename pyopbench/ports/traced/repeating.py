"""Functions that copy and repeat elements, or move them around."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.traced import views
from pyopbench.ports.traced.array import as_traced
from pyopbench.ports.traced.reductions import axes_of
from pyopbench.ports.traced.registry import in_tensors
from pyopbench.ports.traced.shaping import sizes_of
from pyopbench.ports.traced.tape import refuse
from pyopbench.ports.traced.untyped import np


@in_tensors("copy")
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return an array of its own."""
    return tf.identity(as_traced(a).tensor)


@in_tensors("tile")
def tile(A: Any, reps: Any) -> Any:
    """Return an array repeated as a whole."""
    x = as_traced(A)
    sizes = sizes_of(reps)
    rank = max(len(sizes), x.ndim)
    sizes = (1,) * (rank - len(sizes)) + sizes
    spread = (
        tf.reshape(x.tensor, tf.concat([[1] * (rank - x.ndim), tf.shape(x.tensor)], 0)) if rank > x.ndim else x.tensor
    )
    return tf.tile(spread, views._packed(sizes))


@in_tensors("repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Return an array in which each element is repeated."""
    x = as_traced(a)
    tensor = tf.reshape(x.tensor, [-1]) if axis is None or x.ndim == 0 else x.tensor
    (place,) = axes_of(0 if axis is None else axis, tensor.shape.rank)
    times = as_traced(repeats)
    count = int(times.value.item()) if times.is_known and times.value.size == 1 else times.tensor
    if isinstance(count, int):
        index = np.repeat(np.arange(tensor.shape[place]), count) if tensor.shape[place] is not None else None
        if index is not None:
            return tf.gather(tensor, index, axis=place)
    return tf.repeat(tensor, count, axis=place)


@in_tensors("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Return an array with elements moved around along axes."""
    x = as_traced(a)
    shifts = sizes_of(shift)
    if axis is None:
        flat = tf.reshape(x.tensor, [-1])
        if len(shifts) != 1:
            raise refuse("np.roll(x, (a, b))", fix="name the axes")
        return tf.ensure_shape(tf.reshape(_rolled(flat, shifts[0], 0), tf.shape(x.tensor)), x.tensor.shape)
    axes = axes_of(axis, x.ndim)
    tensor = x.tensor
    pairs = np.broadcast(np.arange(len(shifts)), np.arange(len(axes)))
    for place, which in pairs:
        tensor = _rolled(tensor, shifts[place], axes[which])
    return tensor


def _rolled(tensor: Any, shift: Any, axis: int) -> Any:
    if 0 in tensor.shape:
        return tensor
    return tf.roll(tensor, shift, axis)

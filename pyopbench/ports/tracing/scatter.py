"""Functions that write to the array that they are given, and sums over bins."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.tracing import assignment, indexing
from pyopbench.ports.tracing.array import TracedArray, as_traced
from pyopbench.ports.tracing.call_ufunc import as_tensor
from pyopbench.ports.tracing.keys import key_of
from pyopbench.ports.tracing.registry import in_numpy
from pyopbench.ports.tracing.tape import refuse, step
from pyopbench.ports.tracing.untyped import np

SEGMENTS = {
    "add": (tf.math.unsorted_segment_sum, tf.add),
    "subtract": (tf.math.unsorted_segment_sum, tf.subtract),
    "multiply": (tf.math.unsorted_segment_prod, tf.multiply),
    "maximum": (tf.math.unsorted_segment_max, tf.maximum),
    "minimum": (tf.math.unsorted_segment_min, tf.minimum),
}
"""What joins values that go to one place, and what joins that with what is there, by the name of the ufunc."""


def scatter_at(name: str, spelled: str, array: TracedArray, key: Any, *values: Any) -> None:
    """Do `ufunc.at(array, key, values)`: values of one place all count.

    Raises:
        Refused: for a ufunc that is not in the table.
    """
    if name not in SEGMENTS or not values:
        raise refuse(spelled)
    new = as_traced(values[0])
    if not np.can_cast(new.dtype, array.dtype, "same_kind") and new.weak is None:
        raise TypeError(f"Cannot cast ufunc '{name}' output to dtype('{array.dtype}')")
    if array.dtype.kind not in "fiu" or (name in ("maximum", "minimum") and array.dtype.kind == "f"):
        # A segment without values has the least float, and one with NaN is not defined.
        raise refuse(spelled, why=f"is not traced for {array.dtype}")
    where, value, given = key_of(key, as_traced), array.value, new.value
    array.write(step(spelled, lambda: _scattered(name, tf.convert_to_tensor(value), where, given, array.dtype)))


def _scattered(name: str, tensor: Any, key: Any, given: Any, dtype: Any) -> Any:
    join, combine = SEGMENTS[name]
    count = tf.size(tensor)
    places = indexing.get(tf.reshape(tf.range(count), tf.shape(tensor)), key)
    new = assignment.fit(as_tensor(given, dtype), tf.shape(places), places.shape.as_list())
    joined = join(tf.reshape(new, [-1]), tf.reshape(places, [-1]), count)
    return combine(tensor, tf.ensure_shape(tf.reshape(joined, tf.shape(tensor)), tensor.shape))


@in_numpy("copyto", on_known=True)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """Replace all elements, or those where a condition is true."""
    dst[...] = src if where is True else np.where(where, src, dst)


@in_numpy("putmask", on_known=True)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Replace elements where a mask is true."""
    new = as_traced(values)
    if new.ndim and new.static_shape != as_traced(a).static_shape:
        raise refuse("np.putmask", why="repeats values", fix="use np.where")
    a[...] = np.where(mask, new, a)


@in_numpy("fill_diagonal", on_known=True)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Replace the diagonal of a matrix."""
    if wrap or as_traced(a).ndim != 2 or None in a.static_shape:
        raise refuse("np.fill_diagonal", why="is traced for matrices of known shape, without wrap")
    place = np.arange(min(a.static_shape))
    a[place, place] = val


@in_numpy("put", on_known=True)
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Replace elements by their places in one axis."""
    new = as_traced(v)
    if mode != "raise" or new.ndim > 1 or None in a.static_shape:
        raise refuse("np.put", fix="assign to x.ravel()[...]")
    flat = np.ravel(a.copy())
    flat[ind] = new
    a[...] = flat.reshape(a.shape)

"""Functions that write to the array that they are given, and sums over bins."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pyopbench.ports.traced import assignment, indexing
from pyopbench.ports.traced.array import TracedArray, as_traced
from pyopbench.ports.traced.call_ufunc import as_tensor
from pyopbench.ports.traced.keys import key_of
from pyopbench.ports.traced.registry import in_numpy, in_tensors
from pyopbench.ports.traced.tape import refuse, step
from pyopbench.ports.traced.untyped import np

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


@in_tensors("bincount")
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Return how often each number occurs, or the sums of weights."""
    values = as_traced(x)
    if values.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from dtype('{values.dtype}') to dtype('int64') according to 'safe'")
    index = as_tensor(values.value, np.int64)
    least = as_tensor(as_traced(minlength).value, np.int64)
    highest = tf.reduce_max(tf.concat([index, tf.constant([-1], tf.int64)], 0))
    count = tf.maximum(highest + 1, least)
    given = tf.ones_like(index) if weights is None else as_tensor(as_traced(weights).value, np.float64)
    with tf.control_dependencies([tf.debugging.assert_non_negative(index, "bincount of a negative number")]):
        return tf.math.unsorted_segment_sum(given, index, count)


@in_numpy("histogram")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Return how many elements are in each bin, and the edges of the bins; the last bin has both its edges."""
    x = np.ravel(as_traced(a))
    if x.dtype.kind == "b":
        x = x.astype(np.uint8)
    if isinstance(bins, str):
        raise refuse(f"np.histogram(..., bins={bins!r})")
    edges = as_traced(bins) if np.ndim(bins) else _even_edges(x, int(bins), range)
    last = edges.shape[0] - 1
    place = np.searchsorted(edges, x, side="right") - 1
    place = np.where(x == edges[-1], last - 1, place)
    inside = (x >= edges[0]) & (x <= edges[-1])
    kind = np.int64 if weights is None else as_traced(weights).dtype
    given = inside.astype(kind) if weights is None else np.where(inside, np.ravel(as_traced(weights)), 0).astype(kind)
    counts = _sums(np.where(inside, place, 0), given, last)
    if density:
        return counts / np.diff(edges).astype(float) / counts.sum(), edges
    return counts, edges


def _sums(place: Any, given: TracedArray, count: int) -> Any:
    index, values = as_traced(place).value, as_traced(given).value
    tensors = tf.convert_to_tensor
    from pyopbench.ports.traced.array import wrap

    return wrap(
        step("histogram", lambda: tf.math.unsorted_segment_sum(tensors(values), tf.cast(index, tf.int64), count))
    )


def _even_edges(x: TracedArray, bins: int, limits: Any) -> TracedArray:
    low, high = (np.min(x), np.max(x)) if limits is None else limits
    low, high = as_traced(low), as_traced(high)
    kind = np.result_type(low.example, high.example, x.example)
    kind = np.result_type(kind, float) if kind.kind in "iu" else kind
    same = low == high
    low, high = np.where(same, low - 0.5, low), np.where(same, high + 0.5, high)
    return as_traced(np.linspace(low, high, bins + 1, dtype=kind))

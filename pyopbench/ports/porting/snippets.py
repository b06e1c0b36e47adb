"""Small functions that ports call for what TensorFlow has no one function for, written into files that need them."""

from __future__ import annotations

from collections.abc import Iterable

from pyopbench.ports.tensor_functions import sources

SNIPPETS = {
    "_replaced": '''
def _replaced(tensor, places, values):
    """Return a tensor with other values at some of the places that `_places` numbers."""
    tensor = tf.convert_to_tensor(tensor)
    values = tf.broadcast_to(tf.cast(values, tensor.dtype), tf.shape(places))
    flat = tf.tensor_scatter_nd_update(
        tf.reshape(tensor, [-1]), tf.reshape(places, [-1, 1]), tf.reshape(values, [-1])
    )
    return tf.ensure_shape(tf.reshape(flat, tf.shape(tensor)), tensor.shape)
''',
    "_places": '''
def _places(tensor):
    """Return the numbers of a tensor's elements, in its shape."""
    return tf.reshape(tf.range(tf.size(tensor)), tf.shape(tensor))
''',
    "_from_front": '''
def _from_front(places, size):
    """Return indices of which negative ones, which count from the end, are counted from the front."""
    return tf.where(places < 0, places + tf.cast(size, places.dtype), places)
''',
    "_points": '''
def _points(*places):
    """Return indices along each axis, broadcast against each other, as the points that `tf.gather_nd` takes."""
    shape = tf.shape(places[0])
    for other in places[1:]:
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(other))
    return tf.stack([tf.broadcast_to(one, shape) for one in places], axis=-1)
''',
    "_without_nan": '''
def _without_nan(tensor):
    """Return a tensor with 0 for what is NaN."""
    return tf.where(tf.math.is_nan(tensor), tf.zeros_like(tensor), tensor)
''',
    "_variance": '''
def _variance(tensor, axis, ddof, keepdims=False):
    """Return the variance with `ddof` degrees of freedom taken off."""
    away = tensor - tf.reduce_mean(tensor, axis=axis, keepdims=True)
    squares = tf.reduce_sum(tf.square(away), axis=axis, keepdims=keepdims)
    count = tf.size(tensor) / tf.size(tf.reduce_sum(tensor, axis=axis))
    return squares / (tf.cast(count, tensor.dtype) - ddof)
''',
    "_quantile": '''
def _quantile(tensor, q, axis=None, keepdims=False):
    """Return quantiles, with linear interpolation between neighbours; NaN where there is one."""
    if axis is None:
        moved = tf.reshape(tensor, [-1])
    else:
        moved = tf.experimental.numpy.moveaxis(tensor, axis, -1)
    size = tf.cast(tf.shape(moved)[-1], tf.float64)
    place = tf.cast(q, tf.float64) * (size - 1)
    low = tf.cast(tf.floor(place), tf.int32)
    high = tf.cast(tf.math.ceil(place), tf.int32)
    share = tf.cast(place - tf.floor(place), tensor.dtype)
    ordered = tf.sort(moved, axis=-1)
    first, last = tf.gather(ordered, low, axis=-1), tf.gather(ordered, high, axis=-1)
    found = first + (last - first) * share
    has_nan = tf.reduce_any(tf.math.is_nan(moved), axis=-1)
    if share.shape.rank:
        found = tf.experimental.numpy.moveaxis(found, -1, 0)
    found = tf.where(has_nan, tf.constant(float("nan"), tensor.dtype), found)
    if keepdims:
        found = tf.expand_dims(found, -1 if axis is None else axis)
    return found
''',
    "_bincount": '''
def _bincount(values, weights=None, minlength=0):
    """Return how often each whole number from 0 on is there, or the sum of its weights."""
    size = tf.maximum(tf.reduce_max(tf.concat([values, [-1]], 0)) + 1, minlength)
    amounts = tf.ones_like(values) if weights is None else weights
    return tf.math.unsorted_segment_sum(amounts, values, size)
''',
    "_unique": '''
def _unique(tensor):
    """Return the elements ascending and once each; which of these each element is; and how often each is there."""
    flat = tf.reshape(tensor, [-1])
    found = tf.unique(tf.sort(flat)).y
    places = tf.searchsorted(found, flat, out_type=tf.int64)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(places), places, tf.size(found))
    return found, tf.reshape(places, tf.shape(tensor)), counts
''',
    "_padded_with_edge": '''
def _padded_with_edge(tensor, widths):
    """Return a tensor with a margin in which its outermost elements are repeated."""
    for axis, (before, after) in enumerate(widths):
        size = tensor.shape[axis]
        places = np.clip(np.arange(-before, size + after), 0, size - 1)
        tensor = tf.gather(tensor, places, axis=axis)
    return tensor
''',
    "_nan_mean": '''
def _nan_mean(tensor, axis=None, keepdims=False):
    """Return means of what is not NaN."""
    is_nan = tf.math.is_nan(tensor)
    total = tf.reduce_sum(tf.where(is_nan, tf.zeros_like(tensor), tensor), axis=axis, keepdims=keepdims)
    return total / tf.reduce_sum(tf.cast(~is_nan, tensor.dtype), axis=axis, keepdims=keepdims)
''',
    "_correlated": '''
def _correlated(long, short, mode):
    """Return the cross-correlation of a vector with one that is not longer, as `np.correlate` does."""
    size = short.shape[0]
    left, right = {"full": (size - 1, size - 1), "same": (size // 2, size - 1 - size // 2), "valid": (0, 0)}[mode]
    return tf.linalg.matvec(tf.signal.frame(tf.pad(long, [[left, right]]), size, 1), short)
''',
    "_svd": '''
def _svd(tensor, full_matrices=True):
    """Return the singular value decomposition in NumPy's order: u, s, and the adjoint of v."""
    s, u, v = tf.linalg.svd(tensor, full_matrices=full_matrices)
    return u, s, tf.linalg.adjoint(v)
''',
}
"""The source of each, by its name."""


def source_of(names: Iterable[str]) -> list[str]:
    """Return the source of some of them."""
    several = sorted(names)
    return [
        *(SNIPPETS[name].strip() for name in several if name in SNIPPETS),
        *sources.source_of(name for name in several if name not in SNIPPETS),
    ]

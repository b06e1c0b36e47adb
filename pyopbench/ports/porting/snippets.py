"""Small functions that ports call for what TensorFlow has no one function for, written into files that need them."""

from __future__ import annotations

from collections.abc import Iterable

from pyopbench.ports.tensor_functions import sources
from pyopbench.ports.text import snippets as text_snippets

SNIPPETS = {
    **text_snippets.SNIPPETS,
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
}
"""The source of each, by its name."""


def source_of(names: Iterable[str]) -> list[str]:
    """Return the source of some of them."""
    several = sorted(names)
    return [
        *(SNIPPETS[name].strip() for name in several if name in SNIPPETS),
        *sources.source_of(name for name in several if name not in SNIPPETS),
    ]

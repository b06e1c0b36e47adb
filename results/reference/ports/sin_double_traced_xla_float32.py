"""`sin_double` of elementwise.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


@tf.function(jit_compile=True)
def sin_double(x: Any) -> Any:
    """Return 2 sin(x): two steps, which a callback takes in one trip.

    TensorFlow port of `sin_double` in elementwise.py, compiled by XLA; the gradient is
    TensorFlow's own.

    Args:
        x: float32 tensor, a vector.

    Returns:
        float32 tensor, a vector.
    """
    return tf.sin(x) * 2

"""`square` of elementwise.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


@tf.function(jit_compile=True)
def square(x: Any) -> Any:
    """Return x squared, one product per element.

    TensorFlow port of `square` in elementwise.py, compiled by XLA; the gradient is
    TensorFlow's own.

    Args:
        x: float32 tensor, a vector.

    Returns:
        float32 tensor, a vector.
    """
    return tf.square(x)

"""`sinh` of elementwise.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


@tf.function(jit_compile=True)
def sinh(x: Any) -> Any:
    """Return the hyperbolic sine of x, the op of TensorFlow's own example of `tf.numpy_function`.

    TensorFlow port of `sinh` in elementwise.py, compiled by XLA; the gradient is
    TensorFlow's own.

    Args:
        x: float32 tensor, a vector.

    Returns:
        float32 tensor, a vector.
    """
    return tf.sinh(x)

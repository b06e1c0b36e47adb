"""`log` of elementwise.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


@tf.function(jit_compile=True)
def log(x: Any) -> Any:
    """Return the natural logarithm of x.

    TensorFlow port of `log` in elementwise.py, compiled by XLA; the gradient is
    TensorFlow's own.

    Args:
        x: float32 tensor, a vector.

    Returns:
        float32 tensor, a vector.
    """
    return tf.math.log(x)

"""`log` of elementwise.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


def log(x: Any) -> Any:
    """Return the natural logarithm of x.

    TensorFlow port of `log` in elementwise.py; the gradient is TensorFlow's own.

    Args:
        x: float32 tensor, a vector.

    Returns:
        float32 tensor, a vector.
    """
    return tf.math.log(x)

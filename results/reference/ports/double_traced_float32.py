"""`double` of elementwise.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


def double(x: Any) -> Any:
    """Return 2 x: the least arithmetic that an op can do.

    TensorFlow port of `double` in elementwise.py; the gradient is TensorFlow's own.

    Args:
        x: float32 tensor, a vector.

    Returns:
        float32 tensor, a vector.
    """
    return tf.multiply(x, 2)

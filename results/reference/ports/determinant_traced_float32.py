"""`numpy_body` of determinant.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


def numpy_body(x: Any) -> Any:
    """Return the determinants `(size,)` of the matrices `x` `(size, 4, 4)`.

    TensorFlow port of `numpy_body` in determinant.py; the gradient is TensorFlow's own.

    Args:
        x: float32 tensor, with 3 axes.

    Returns:
        float32 tensor, a vector.
    """
    return tf.linalg.det(x)

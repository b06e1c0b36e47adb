"""`cube` of elementwise.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


def cube(x: Any) -> Any:
    """Return x cubed, which NumPy takes through `pow` and TensorFlow rewrites into products.

    TensorFlow port of `cube` in elementwise.py; the gradient is TensorFlow's own.

    Args:
        x: float32 tensor, a vector.

    Returns:
        float32 tensor, a vector.
    """
    return tf.pow(x, 3)

"""`numpy_body` of log_huber.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


def numpy_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `()`, for scalars x and m > 0.

    TensorFlow port of `numpy_body` in log_huber.py; the gradient is TensorFlow's own.

    Args:
        x: float32 tensor, a number.
        m: float32 tensor, a number.

    Returns:
        float32 tensor, a number.
    """
    if tf.abs(x) <= m:
        return tf.square(x)
    # NumPy before 2.0 promotes a float32 scalar to float64 as soon as it meets a Python number (NEP 50).
    return tf.square(m) * (1 - 2 * tf.math.log(m) + tf.math.log(tf.square(x)))

"""`elementwise_numpy_body` of log_huber.py as TensorFlow ops."""

from typing import Any

import tensorflow as tf


@tf.function(jit_compile=True)
def elementwise_numpy_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), the shape of x, for a scalar m > 0.

    TensorFlow port of `elementwise_numpy_body` in log_huber.py, compiled by XLA; the
    gradient is TensorFlow's own.

    Args:
        x: float32 tensor, a vector.
        m: float32 tensor, a number.

    Returns:
        float32 tensor, a vector.
    """
    outside = tf.square(m) * (1 - 2 * tf.math.log(m) + tf.math.log(tf.square(x)))
    return tf.where(tf.abs(x) <= m, tf.square(x), outside)

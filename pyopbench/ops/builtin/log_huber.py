"""log_huber: the op of TensorFlow's own example of `tf.py_function`, with a Python `if` on a scalar tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import Op
from pyopbench.ops import numba_bodies

FLOPS = 8
"""Outside of m: two squares, two logarithms, 2 * and 1 - and +, and the last product."""


def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
    """Draw the scalars x and m, both `()`, with |x| at least 1.5 m.

    Always outside of m, whatever the seed: the branch with the logarithms, whose gradient has both parts. A draw
    that takes now one branch, now the other would make launches differ in the work they time.
    """
    m = rng.uniform(1.0, 2.0)
    x = m * rng.uniform(1.5, 2.5) * rng.choice([-1.0, 1.0])
    return (np.asarray(x, dtype=dtype), np.asarray(m, dtype=dtype))


def numpy_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `()`, for scalars x and m > 0."""
    if np.abs(x) <= m:
        return np.square(x)
    # NumPy before 2.0 promotes a float32 scalar to float64 as soon as it meets a Python number (NEP 50).
    return np.asarray(np.square(m) * (1 - 2 * np.log(m) + np.log(np.square(x))), dtype=x.dtype)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx, dm)`, both `()`: (2 x, 0) inside of m, else (2 m**2 / x, 2 m (log x**2 - 2 log m)), times dy."""
    (x, m), (dy,) = inputs, output_gradients
    if np.abs(x) <= m:
        dx, dm = 2 * x * dy, 0.0
    else:
        dx, dm = 2 * np.square(m) / x * dy, 2 * m * (np.log(np.square(x)) - 2 * np.log(m)) * dy
    return (np.asarray(dx, dtype=x.dtype), np.asarray(dm, dtype=x.dtype))


def tensor_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `()`, for scalars x and m > 0."""
    return tf.cond(
        tf.abs(x) <= m,
        lambda: tf.square(x),
        lambda: tf.square(m) * (1 - 2 * tf.math.log(m) + tf.math.log(tf.square(x))),
    )


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx, dm)`, both `()`: (2 x, 0) inside of m, else (2 m**2 / x, 2 m (log x**2 - 2 log m)), times dy."""
    (x, m), (dy,) = inputs, output_gradients
    dx, dm = tf.cond(
        tf.abs(x) <= m,
        lambda: (2 * x, tf.zeros_like(m)),
        lambda: (2 * tf.square(m) / x, 2 * m * (tf.math.log(tf.square(x)) - 2 * tf.math.log(m))),
    )
    return (dx * dy, dm * dy)


def python_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `()`: the example as it stands."""
    if tf.abs(x) <= m:
        return x**2
    else:
        return m**2 * (1 - 2 * tf.math.log(m) + tf.math.log(x**2))


OP = Op(
    name="log_huber",
    summary="a loss of one number, with a Python `if` on a tensor",
    source="https://www.tensorflow.org/api_docs/python/tf/py_function",
    make_inputs=make_inputs,
    numpy=numpy_body,
    sizes=(1,),
    quick_sizes=(1,),
    bytes_moved=lambda size, dtype: 3 * np.dtype(dtype).itemsize,
    flops=lambda size: FLOPS,
    differentiable=(0, 1),
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    python=python_body,
    kernel=KERNELS / "log_huber.cc",
    numba=numba_bodies.bodies("log_huber"),
)

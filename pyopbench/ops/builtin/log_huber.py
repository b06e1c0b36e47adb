"""log_huber, TensorFlow's own example of `tf.py_function` with a Python `if` on a scalar, and the same for a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import Op
from pyopbench.ops.builtin import elementwise

KERNEL = KERNELS / "log_huber.cc"


MARGIN = 0.1
"""How far every |x| keeps from the kink at m = 1, and from the pole of log x**2 at 0."""

LARGEST_LOOP = 1_000
"""Elements: the most for which a call of the loop stays below about 0.3 s with its gradient. Reading one element of a
TensorArray has a gradient as long as the array (`_TensorListGetItemGrad` in tensorflow/python/ops/list_ops.py), so
that ten times the elements take near a hundred times as long."""

ELEMENTWISE_TOLERANCE = {"float32": 1e-4, "float64": 1e-11}
"""The gradient by m is one sum over all elements, and what is left of it after cancelling carries the rounding of all
its terms; autodiff takes each term as a difference of two larger ones besides."""


def make_scalars(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
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


def loss(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `()`: the example as it is."""
    if tf.abs(x) <= m:
        return x**2
    else:
        return m**2 * (1 - 2 * tf.math.log(m) + tf.math.log(x**2))


def make_vector(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
    """Draw x `(size,)` of either sign, half of it inside of m in the mean, and m `()`, which is 1.

    The first element is outside whatever the seed, so that m has a gradient at every size.
    """
    inside = rng.uniform(MARGIN, 1.0 - MARGIN, size)
    outside = rng.uniform(1.0 + MARGIN, 3.0, size)
    is_inside = rng.random(size) < 0.5
    is_inside[:1] = False
    magnitude = np.where(is_inside, inside, outside)
    x = magnitude * rng.choice([-1.0, 1.0], size)
    return (x.astype(dtype), np.asarray(1.0, dtype=dtype))


def elementwise_numpy_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), the shape of x, for a scalar m > 0."""
    outside = np.square(m) * (1 - 2 * np.log(m) + np.log(np.square(x)))
    return np.where(np.abs(x) <= m, np.square(x), outside)


def elementwise_numpy_gradient(
    inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """Return `(dx, dm)`, the shape of x and `()`.

    By x it is 2 x inside of m, else 2 m**2 / x; by m it is 0, else 2 m (log x**2 - 2 log m); times dy.
    """
    (x, m), (dy,) = inputs, output_gradients
    inside = np.abs(x) <= m
    by_x = np.where(inside, 2 * x, 2 * np.square(m) / x)
    by_m = np.where(inside, 0, 2 * m * (np.log(np.square(x)) - 2 * np.log(m)))
    return (by_x * dy, np.asarray(np.sum(by_m * dy), dtype=x.dtype))


def elementwise_tensor_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), the shape of x, for a scalar m > 0."""
    inside = tf.abs(x) <= m
    # The logarithm of an x inside is thrown away, but at 0 it would still make the gradient NaN.
    safe = tf.where(inside, tf.ones_like(x), x)
    outside = tf.square(m) * (1 - 2 * tf.math.log(m) + tf.math.log(tf.square(safe)))
    return tf.where(inside, tf.square(x), outside)


def elementwise_tensor_gradient(
    inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]
) -> tuple[Any, ...]:
    """Return `(dx, dm)`, the shape of x and `()`: the formula of `elementwise_numpy_gradient`."""
    (x, m), (dy,) = inputs, output_gradients
    inside = tf.abs(x) <= m
    by_x = tf.where(inside, 2 * x, 2 * tf.square(m) / x)
    by_m = tf.where(inside, tf.zeros_like(x), 2 * m * (tf.math.log(tf.square(x)) - 2 * tf.math.log(m)))
    return (by_x * dy, tf.reduce_sum(by_m * dy))


def elementwise_python_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `(n,)`, with one `if` per element."""
    values = tf.TensorArray(x.dtype, size=tf.shape(x)[0], element_shape=())
    i = tf.constant(0)
    for element in x:
        values = values.write(i, loss(element, m))
        i += 1
    return values.stack()


OPS = {
    "log_huber": Op(
        name="log_huber",
        summary="a loss of one number, with a Python `if` on a tensor",
        source="https://www.tensorflow.org/api_docs/python/tf/py_function",
        make_inputs=make_scalars,
        numpy=numpy_body,
        sizes=(1,),
        quick_sizes=(1,),
        differentiable=(0, 1),
        numpy_gradient=numpy_gradient,
        tensor=tensor_body,
        tensor_gradient=tensor_gradient,
        python=loss,
        kernel=KERNEL,
        not_ported={"numba_op": "its gradient asks a number for its dtype, which Numba does not compile"},
    ),
    "log_huber_elementwise": Op(
        name="log_huber_elementwise",
        summary="a loss of every element of a vector, with a branch per element",
        source="https://www.tensorflow.org/api_docs/python/tf/py_function, applied to each element",
        make_inputs=make_vector,
        numpy=elementwise_numpy_body,
        sizes=elementwise.SIZES,
        quick_sizes=elementwise.QUICK_SIZES,
        # Outside of m each element takes a square, a logarithm, a sum and a product, inside only the square; m takes 4.
        differentiable=(0, 1),
        numpy_gradient=elementwise_numpy_gradient,
        tensor=elementwise_tensor_body,
        tensor_gradient=elementwise_tensor_gradient,
        python=elementwise_python_body,
        kernel=KERNEL,
        largest={"python": LARGEST_LOOP},
        tolerance=ELEMENTWISE_TOLERANCE,
    ),
}

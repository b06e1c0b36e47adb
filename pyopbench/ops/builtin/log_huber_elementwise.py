"""log_huber_elementwise: the loss of `log_huber` for a whole vector, with one `if` per element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import Op
from pyopbench.ops import numba_bodies
from pyopbench.ops.builtin import _elementwise

MARGIN = 0.1
"""How far every |x| keeps from the kink at m = 1, and from the pole of log x**2 at 0."""

LARGEST_LOOP = 1_000
"""Elements: the most for which a call of the loop stays below about 0.3 s with its gradient. Reading one element of a
TensorArray has a gradient as long as the array (`_TensorListGetItemGrad` in tensorflow/python/ops/list_ops.py), so
that ten times the elements take near a hundred times as long."""

TOLERANCE = {"float32": 1e-4, "float64": 1e-11}
"""The gradient by m is one sum over all elements, and what is left of it after cancelling carries the rounding of all
its terms; autodiff takes each term as a difference of two larger ones besides."""


def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
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


def numpy_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), the shape of x, for a scalar m > 0."""
    outside = np.square(m) * (1 - 2 * np.log(m) + np.log(np.square(x)))
    return np.where(np.abs(x) <= m, np.square(x), outside)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx, dm)`, the shape of x and `()`.

    By x it is 2 x inside of m, else 2 m**2 / x; by m it is 0, else 2 m (log x**2 - 2 log m); times dy.
    """
    (x, m), (dy,) = inputs, output_gradients
    inside = np.abs(x) <= m
    by_x = np.where(inside, 2 * x, 2 * np.square(m) / x)
    by_m = np.where(inside, 0, 2 * m * (np.log(np.square(x)) - 2 * np.log(m)))
    return (by_x * dy, np.asarray(np.sum(by_m * dy), dtype=x.dtype))


def tensor_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), the shape of x, for a scalar m > 0."""
    inside = tf.abs(x) <= m
    # The logarithm of an x inside is thrown away, but at 0 it would still make the gradient NaN.
    safe = tf.where(inside, tf.ones_like(x), x)
    outside = tf.square(m) * (1 - 2 * tf.math.log(m) + tf.math.log(tf.square(safe)))
    return tf.where(inside, tf.square(x), outside)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx, dm)`, the shape of x and `()`: the formula of `numpy_gradient`."""
    (x, m), (dy,) = inputs, output_gradients
    inside = tf.abs(x) <= m
    by_x = tf.where(inside, 2 * x, 2 * tf.square(m) / x)
    by_m = tf.where(inside, tf.zeros_like(x), 2 * m * (tf.math.log(tf.square(x)) - 2 * tf.math.log(m)))
    return (by_x * dy, tf.reduce_sum(by_m * dy))


def loss(element: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `()`, of one element."""
    if tf.abs(element) <= m:
        return element**2
    else:
        return m**2 * (1 - 2 * tf.math.log(m) + tf.math.log(element**2))


def python_body(x: Any, m: Any) -> Any:
    """Return x**2 where |x| <= m, else m**2 (1 - 2 log m + log x**2), `(n,)`, with one `if` per element."""
    values = tf.TensorArray(x.dtype, size=tf.shape(x)[0], element_shape=())
    i = tf.constant(0)
    for element in x:
        values = values.write(i, loss(element, m))
        i += 1
    return values.stack()


OP = Op(
    name="log_huber_elementwise",
    summary="a loss of every element of a vector, with a branch per element",
    source="https://www.tensorflow.org/api_docs/python/tf/py_function, applied to each element",
    make_inputs=make_inputs,
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=lambda size, dtype: (2 * size + 1) * np.dtype(dtype).itemsize,
    # Outside of m each element takes a square, a logarithm, a sum and a product, inside only the square; m takes 4.
    flops=lambda size: (4 + 1) * size // 2 + 4,
    differentiable=(0, 1),
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    python=python_body,
    kernel=KERNELS / "log_huber_elementwise.cc",
    numba=numba_bodies.bodies("log_huber_elementwise"),
    largest={"python": LARGEST_LOOP},
    tolerance=TOLERANCE,
)

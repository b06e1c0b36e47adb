"""The ops from one array to one array of the same shape, and what any such op needs: sizes, inputs, traffic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import GradientBody, Op

SIZES = tuple(10**exponent for exponent in range(7))
"""Elements: from one, where a call is all overhead, to 1e6, which no longer fits a core's cache (4 MB, 8 MB)."""

QUICK_SIZES = (1_000, 1_000_000)
"""Elements: where an op is all overhead, and where its body is what it costs."""

KERNEL = KERNELS / "elementwise_ops.cc"

MakeInputs = Callable[[int, str, np.random.Generator], tuple[npt.NDArray[Any], ...]]


def uniform(low: float, high: float) -> MakeInputs:
    """Return a `make_inputs` that draws one `(size,)` array, uniform in `[low, high)`."""

    def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
        return (rng.uniform(low, high, size).astype(dtype),)

    return make_inputs


def signed(low: float, high: float) -> MakeInputs:
    """Return a `make_inputs` that draws one `(size,)` array of either sign, magnitudes uniform in `[low, high)`."""

    def make_inputs(size: int, dtype: str, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
        return ((rng.uniform(low, high, size) * rng.choice([-1.0, 1.0], size)).astype(dtype),)

    return make_inputs


elementwise_op = partial(
    Op,
    make_inputs=uniform(-2.0, 2.0),
    sizes=SIZES,
    quick_sizes=QUICK_SIZES,
    kernel=KERNEL,
)
"""`Op` with what the built-in elementwise ops share, unless one says otherwise."""


def gradient_of(slope: Callable[[Any, Any], Any]) -> GradientBody:
    """Return the gradient `(dx,)` of an elementwise op from `(x, dy) -> dx`."""

    def gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
        return (slope(inputs[0], output_gradients[0]),)

    return gradient


# The bodies in NumPy have names, because ports are made of their sources.


def cube(x: Any) -> Any:
    """Return x cubed, which NumPy takes through `pow` and TensorFlow rewrites into products."""
    return np.power(x, 3)


def double(x: Any) -> Any:
    """Return 2 x: the least arithmetic that an op can do."""
    return np.multiply(x, 2)


def identity(x: Any) -> Any:
    """Return `x` itself, of any shape.

    Safe in a graph, where `x` aliases the buffer of the input tensor: the output keeps the array, and so the buffer,
    alive, and no kernel writes its own output there, because TensorFlow takes arrays over as memory that it does not
    own (`TF_NewTensor` in tensorflow/c/tf_tensor.cc, `Tensor::RefCountIsOne` in tensorflow/core/framework/tensor.cc).
    """
    return x


def log(x: Any) -> Any:
    """Return the natural logarithm of x."""
    return np.log(x)


def relu(x: Any) -> Any:
    """Return max(x, 0): the cheapest op with a kink."""
    return np.maximum(x, 0)


def sin_double(x: Any) -> Any:
    """Return 2 sin(x): two steps, which a callback takes in one trip."""
    return np.sin(x) * 2


def sinh(x: Any) -> Any:
    """Return the hyperbolic sine of x, the op of TensorFlow's own example of `tf.numpy_function`."""
    return np.sinh(x)


def square(x: Any) -> Any:
    """Return x squared, one product per element."""
    return np.square(x)


OPS = {
    "cube": elementwise_op(
        name="cube",
        summary="x**3",
        source="https://www.tensorflow.org/api_docs/python/tf/math/pow",
        numpy=cube,
        numpy_gradient=gradient_of(lambda x, dy: dy * 3 * np.square(x)),
        tensor=lambda x: tf.pow(x, 3),
        tensor_gradient=gradient_of(lambda x, dy: dy * 3 * tf.square(x)),
    ),
    "double": elementwise_op(
        name="double",
        summary="x * 2, bound by memory",
        source="https://www.tensorflow.org/api_docs/python/tf/math/multiply",
        numpy=double,
        numpy_gradient=gradient_of(lambda x, dy: dy * 2),
        tensor=lambda x: tf.multiply(x, 2),
        tensor_gradient=gradient_of(lambda x, dy: dy * 2),
    ),
    "identity": elementwise_op(
        name="identity",
        summary="x: the bridge baseline, what a callback costs with nothing to do",
        source="https://www.tensorflow.org/api_docs/python/tf/identity",
        make_inputs=uniform(-1.0, 1.0),
        numpy=identity,
        numpy_gradient=gradient_of(lambda x, dy: dy),
        tensor=tf.identity,
        tensor_gradient=gradient_of(lambda x, dy: tf.identity(dy)),
    ),
    "log": elementwise_op(
        name="log",
        summary="log(x) of positive x",
        source="https://www.tensorflow.org/api_docs/python/tf/math/log",
        make_inputs=uniform(0.1, 10.0),
        numpy=log,
        numpy_gradient=gradient_of(lambda x, dy: dy / x),
        tensor=tf.math.log,
        tensor_gradient=gradient_of(lambda x, dy: dy / x),
    ),
    "relu": elementwise_op(
        name="relu",
        summary="max(x, 0)",
        source="Nair and Hinton, Rectified linear units improve restricted Boltzmann machines, ICML 2010",
        make_inputs=signed(0.1, 2.0),  # away from the kink
        numpy=relu,
        numpy_gradient=gradient_of(lambda x, dy: dy * (x > 0)),
        tensor=tf.nn.relu,
        tensor_gradient=gradient_of(lambda x, dy: tf.where(x > 0, dy, tf.zeros_like(dy))),
    ),
    "sin_double": elementwise_op(
        name="sin_double",
        summary="sin(x) * 2, a transcendental and a product",
        source="d 2 sin(x) = 2 cos(x) dx, https://dlmf.nist.gov/4.20",
        make_inputs=uniform(-3.0, 3.0),
        numpy=sin_double,
        numpy_gradient=gradient_of(lambda x, dy: dy * np.cos(x) * 2),
        tensor=lambda x: tf.sin(x) * 2,
        tensor_gradient=gradient_of(lambda x, dy: dy * tf.cos(x) * 2),
    ),
    "sinh": elementwise_op(
        name="sinh",
        summary="sinh(x), one transcendental per element",
        source="https://www.tensorflow.org/api_docs/python/tf/numpy_function",
        make_inputs=uniform(-3.0, 3.0),
        numpy=sinh,
        numpy_gradient=gradient_of(lambda x, dy: dy * np.cosh(x)),
        tensor=tf.sinh,
        tensor_gradient=gradient_of(lambda x, dy: dy * tf.cosh(x)),
    ),
    "square": elementwise_op(
        name="square",
        summary="x**2",
        source="https://www.tensorflow.org/api_docs/python/tf/math/square",
        numpy=square,
        numpy_gradient=gradient_of(lambda x, dy: dy * 2 * x),
        tensor=tf.square,
        tensor_gradient=gradient_of(lambda x, dy: dy * 2 * x),
    ),
}

"""sinh: the op of TensorFlow's own example of `tf.numpy_function`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import Op
from pyopbench.ops import numba_bodies
from pyopbench.ops.builtin import _elementwise


def numpy_body(x: Any) -> Any:
    """Return sinh(x), elementwise and of the shape of `x`."""
    return np.sinh(x)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d sinh(x) = cosh(x) dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * np.cosh(x),)


def tensor_body(x: Any) -> Any:
    """Return sinh(x), elementwise and of the shape of `x`."""
    return tf.sinh(x)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d sinh(x) = cosh(x) dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * tf.cosh(x),)


OP = Op(
    name="sinh",
    summary="sinh(x), one transcendental per element",
    source="https://www.tensorflow.org/api_docs/python/tf/numpy_function",
    make_inputs=_elementwise.uniform(-3.0, 3.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: size,
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "sinh.cc",
    numba=numba_bodies.bodies("sinh"),
)

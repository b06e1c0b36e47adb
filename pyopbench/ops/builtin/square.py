"""square: one product per element."""

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
    """Return x squared, elementwise and of the shape of `x`."""
    return np.square(x)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d x**2 = 2 x dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * 2 * x,)


def tensor_body(x: Any) -> Any:
    """Return x squared, elementwise and of the shape of `x`."""
    return tf.square(x)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d x**2 = 2 x dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * 2 * x,)


OP = Op(
    name="square",
    summary="x**2",
    source="https://www.tensorflow.org/api_docs/python/tf/math/square",
    make_inputs=_elementwise.uniform(-2.0, 2.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: size,
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "square.cc",
    numba=numba_bodies.bodies("square"),
)

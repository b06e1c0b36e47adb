"""cube: a power, which NumPy takes through `pow` and TensorFlow rewrites into products."""

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
    """Return x cubed, elementwise and of the shape of `x`."""
    return np.power(x, 3)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d x**3 = 3 x**2 dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * 3 * np.square(x),)


def tensor_body(x: Any) -> Any:
    """Return x cubed, elementwise and of the shape of `x`."""
    return tf.pow(x, 3)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d x**3 = 3 x**2 dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * 3 * tf.square(x),)


OP = Op(
    name="cube",
    summary="x**3",
    source="https://www.tensorflow.org/api_docs/python/tf/math/pow",
    make_inputs=_elementwise.uniform(-2.0, 2.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: 2 * size,
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "cube.cc",
    numba=numba_bodies.bodies("cube"),
)

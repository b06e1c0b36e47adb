"""double: the least arithmetic that an op can do."""

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
    """Return 2 x, elementwise and of the shape of `x`."""
    return np.multiply(x, 2)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d 2 x = 2 dx."""
    (dy,) = output_gradients
    return (dy * 2,)


def tensor_body(x: Any) -> Any:
    """Return 2 x, elementwise and of the shape of `x`."""
    return tf.multiply(x, 2)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d 2 x = 2 dx."""
    (dy,) = output_gradients
    return (dy * 2,)


OP = Op(
    name="double",
    summary="x * 2, bound by memory",
    source="https://www.tensorflow.org/api_docs/python/tf/math/multiply",
    make_inputs=_elementwise.uniform(-2.0, 2.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: size,
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "double.cc",
    numba=numba_bodies.bodies("double"),
)

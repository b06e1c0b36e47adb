"""log: the natural logarithm of positive numbers."""

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
    """Return log(x), elementwise and of the shape of `x`."""
    return np.log(x)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d log(x) = dx / x."""
    (x,), (dy,) = inputs, output_gradients
    return (dy / x,)


def tensor_body(x: Any) -> Any:
    """Return log(x), elementwise and of the shape of `x`."""
    return tf.math.log(x)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d log(x) = dx / x."""
    (x,), (dy,) = inputs, output_gradients
    return (dy / x,)


OP = Op(
    name="log",
    summary="log(x) of positive x",
    source="https://www.tensorflow.org/api_docs/python/tf/math/log",
    make_inputs=_elementwise.uniform(0.1, 10.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: size,
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "log.cc",
    numba=numba_bodies.bodies("log"),
)

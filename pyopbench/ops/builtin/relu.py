"""relu: the cheapest op with a kink."""

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
    """Return max(x, 0), elementwise and of the shape of `x`."""
    return np.maximum(x, 0)


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: dy where x > 0, else 0."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * (x > 0),)


def tensor_body(x: Any) -> Any:
    """Return max(x, 0), elementwise and of the shape of `x`."""
    return tf.nn.relu(x)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: dy where x > 0, else 0."""
    (x,), (dy,) = inputs, output_gradients
    return (tf.where(x > 0, dy, tf.zeros_like(dy)),)


OP = Op(
    name="relu",
    summary="max(x, 0)",
    source="Nair and Hinton, Rectified linear units improve restricted Boltzmann machines, ICML 2010",
    make_inputs=_elementwise.signed(0.1, 2.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: size,
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "relu.cc",
    numba=numba_bodies.bodies("relu"),
)

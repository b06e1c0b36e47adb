"""sin_double: two steps, which a callback takes in one trip."""

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
    """Return 2 sin(x), elementwise and of the shape of `x`."""
    return np.sin(x) * 2


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d 2 sin(x) = 2 cos(x) dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * np.cos(x) * 2,)


def tensor_body(x: Any) -> Any:
    """Return 2 sin(x), elementwise and of the shape of `x`."""
    return tf.sin(x) * 2


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d 2 sin(x) = 2 cos(x) dx."""
    (x,), (dy,) = inputs, output_gradients
    return (dy * tf.cos(x) * 2,)


OP = Op(
    name="sin_double",
    summary="sin(x) * 2, a transcendental and a product",
    source="d 2 sin(x) = 2 cos(x) dx, https://dlmf.nist.gov/4.20",
    make_inputs=_elementwise.uniform(-3.0, 3.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: 2 * size,
    numpy_gradient=numpy_gradient,
    tensor=tensor_body,
    tensor_gradient=tensor_gradient,
    kernel=KERNELS / "sin_double.cc",
    numba=numba_bodies.bodies("sin_double"),
)

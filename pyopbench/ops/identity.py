"""identity: nothing at all, so what it costs is what the bridge costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np  # noqa: F401  (every op offers its `np` to be rebound)
import tensorflow as tf

from pyopbench.model import Op
from pyopbench.ops import _elementwise


def numpy_body(x: Any) -> Any:
    """Return `x` itself, of any shape.

    Safe in a graph, where `x` aliases the buffer of the input tensor: TensorFlow takes the array over as foreign
    memory and holds on to it, and no kernel reuses foreign memory for its output (`TF_TensorFromNdarray` in
    tensorflow/python/lib/core/ndarray_tensor.cc, `OwnsMemory` in tensorflow/core/framework/op_kernel.cc).
    """
    return x


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dy,)`, the shape of `x`."""
    return (output_gradients[0],)


def tensor_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dy,)`, the shape of `x`."""
    return (tf.identity(output_gradients[0]),)


OP = Op(
    name="identity",
    summary="x: the floor, what a bridge costs with nothing to do",
    source="https://www.tensorflow.org/api_docs/python/tf/identity",
    make_inputs=_elementwise.uniform(-1.0, 1.0),
    numpy=numpy_body,
    sizes=_elementwise.SIZES,
    quick_sizes=_elementwise.QUICK_SIZES,
    bytes_moved=_elementwise.bytes_moved,
    flops=lambda size: 0,
    numpy_gradient=numpy_gradient,
    tensor=tf.identity,
    tensor_gradient=tensor_gradient,
)

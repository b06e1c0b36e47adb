"""identity: nothing at all, so what it costs is what the bridge costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np  # noqa: F401  (every op offers its `np` to be rebound)
import tensorflow as tf

from pyopbench.model.discover import KERNELS
from pyopbench.model.op import Op
from pyopbench.ops import numba_bodies
from pyopbench.ops.builtin import _elementwise


def numpy_body(x: Any) -> Any:
    """Return `x` itself, of any shape.

    Safe in a graph, where `x` aliases the buffer of the input tensor: the output keeps the array, and so the buffer,
    alive, and no kernel writes its own output there, because TensorFlow takes arrays over as memory that it does not
    own (`TF_NewTensor` in tensorflow/c/tf_tensor.cc, `Tensor::RefCountIsOne` in tensorflow/core/framework/tensor.cc).
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
    kernel=KERNELS / "identity.cc",
    numba=numba_bodies.bodies("identity"),
)

"""negate: an op for tests, small and quick at every size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench import Op
from pyopbench.ops.builtin import elementwise


def numpy_gradient(inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> tuple[Any, ...]:
    """Return `(dx,)`, the shape of `x`: d(-x) = -dx."""
    (dy,) = output_gradients
    return (-dy,)


OP = Op(
    name="negate",
    summary="-x, for tests",
    source="none: made for tests",
    make_inputs=elementwise.uniform(1.0, 2.0),
    numpy=np.negative,
    sizes=(4, 8),
    quick_sizes=(4, 8),
    numpy_gradient=numpy_gradient,
    tensor=tf.negative,
    tensor_gradient=numpy_gradient,
)

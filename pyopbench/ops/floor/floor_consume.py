"""floor_consume: takes many elements and gives one; what grows with them is what bytes cost on their way in."""

from __future__ import annotations

from typing import Any

from pyopbench.ops.builtin import _elementwise
from pyopbench.ops.floor._buffers import floor_op, tensor_result, unaligned_result


def numpy_body(x: Any) -> Any:
    """Return one element `(1,)`, whatever `x` `(n,)` holds."""
    return unaligned_result(1)


def tensor_body(x: Any) -> Any:
    """Return one element `(1,)`, whatever `x` `(n,)` holds; eagerly."""
    return tensor_result(1)


OP = floor_op(
    name="floor_consume",
    summary="many elements in, one out",
    make_inputs=_elementwise.uniform(-1.0, 1.0),
    numpy=numpy_body,
    numba=lambda: (numpy_body, None),
    tensor=tensor_body,
)

"""floor_produce: takes one element and gives many, not aligned: what grows with them is what bytes cost going out.

The usual case, because NumPy's arrays seldom begin at a multiple of 64 bytes.
"""

from __future__ import annotations

from typing import Any

from pyopbench.ops.floor._buffers import floor_op, size_as_input, tensor_result, unaligned_result


def numpy_body(x: Any) -> Any:
    """Return as many elements as `x` `(1,)` says, in an array that is not aligned."""
    return unaligned_result(int(x[0]))


def tensor_body(x: Any) -> Any:
    """Return as many elements as `x` `(1,)` says, in an eager tensor; eagerly."""
    return tensor_result(int(x.numpy()[0]))


OP = floor_op(
    name="floor_produce",
    summary="one element in, many out, not aligned",
    make_inputs=size_as_input,
    numpy=numpy_body,
    numba=lambda: (numpy_body, None),
    tensor=tensor_body,
)

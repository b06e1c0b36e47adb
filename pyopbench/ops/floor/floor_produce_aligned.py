"""floor_produce_aligned: takes one element and gives many, aligned: a bridge can take them over without a copy."""

from __future__ import annotations

from typing import Any

from pyopbench.ops.floor._buffers import aligned_result, floor_op, size_as_input


def numpy_body(x: Any) -> Any:
    """Return as many elements as `x` `(1,)` says, in an array that begins at a multiple of 64 bytes."""
    return aligned_result(int(x[0]))


OP = floor_op(
    name="floor_produce_aligned",
    summary="one element in, many out, aligned",
    make_inputs=size_as_input,
    numpy=numpy_body,
    numba=lambda: (numpy_body, None),
)

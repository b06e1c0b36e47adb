"""Bridge baselines: ops with nothing to do, whose times are those of a bridge; asv follows them over commits.

No run measures them. Their results are made once and handed out every time: one that is made anew costs memory
that is new to the process; with one that is kept, only the crossing is timed. That TensorFlow may take such an array
over is safe: nothing writes to memory that a tensor does not own (`identity` in `pyopbench.ops.builtin.elementwise`).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import BRIDGE_BASELINE_DTYPE
from pyopbench.model.op import Op
from pyopbench.ops.alignment import unaligned
from pyopbench.ops.builtin import elementwise

SIZES = (10_000, 100_000, 1_000_000)
"""Elements: from what fits the caches (40 kB, 400 kB) to what does not (4 MB); one element is the floor of a bridge."""

SOURCE = "measured by asv through each callback, to follow the cost of its bridge"

baseline_op = partial(
    Op,
    source=SOURCE,
    sizes=SIZES,
    quick_sizes=SIZES,
    dtypes=(BRIDGE_BASELINE_DTYPE,),
    differentiable=(),
)
"""`Op` with what all baselines share: of inputs and results one is of `size` elements, the other is one."""


@lru_cache(maxsize=4)
def unaligned_result(size: int) -> Any:
    """Return the one array `(size,)` that does not begin at a multiple of 64 bytes, as NumPy's usually do not."""
    return unaligned(np.ones(size, BRIDGE_BASELINE_DTYPE))


@lru_cache(maxsize=4)
def tensor_result(size: int) -> Any:
    """Return the one eager tensor `(size,)`; to be asked for only where code runs eagerly."""
    return tf.ones(size, BRIDGE_BASELINE_DTYPE)


def size_as_input(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return one array `(1,)` that holds the size of the result; float32 holds whole numbers to 16,777,216."""
    return (np.array([size], dtype),)


def consume(x: Any) -> Any:
    """Return one element `(1,)`, whatever `x` `(n,)` holds."""
    return unaligned_result(1)


def consume_tensor(x: Any) -> Any:
    """Return one element `(1,)`, whatever `x` `(n,)` holds; eagerly."""
    return tensor_result(1)


def produce(x: Any) -> Any:
    """Return as many elements as `x` `(1,)` says, in an array that is not aligned."""
    return unaligned_result(int(x[0]))


def produce_tensor(x: Any) -> Any:
    """Return as many elements as `x` `(1,)` says, in an eager tensor; eagerly."""
    return tensor_result(int(x.numpy()[0]))


OPS = {
    # What grows with the elements is what bytes cost on their way in.
    "floor_consume": baseline_op(
        name="floor_consume",
        summary="many elements in, one out",
        make_inputs=elementwise.uniform(-1.0, 1.0),
        numpy=consume,
        tensor=consume_tensor,
    ),
    # And here on their way out. The usual case, because NumPy's arrays seldom begin at a multiple of 64 bytes.
    "floor_produce": baseline_op(
        name="floor_produce",
        summary="one element in, many out, not aligned",
        make_inputs=size_as_input,
        numpy=produce,
        tensor=produce_tensor,
    ),
}

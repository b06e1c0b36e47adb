"""What the ops of the floor have in common: their sizes, and results that are made once and handed out every time.

A result that is made anew costs memory that is new to the process; with one that is kept, only the crossing is timed.
That TensorFlow may take such an array over is safe: nothing writes to memory that a tensor does not own
(`pyopbench.ops.builtin.identity`).
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import FLOOR_DTYPE
from pyopbench.model.op import Op
from pyopbench.ops.alignment import aligned, unaligned

SIZES = (10_000, 100_000, 1_000_000)
"""Elements: from what fits the caches (40 kB, 400 kB) to what does not (4 MB); one element is the floor of a bridge."""

SOURCE = "measured beside each callback, to tell its bridge from its body"

floor_op = partial(
    Op,
    source=SOURCE,
    sizes=SIZES,
    quick_sizes=SIZES,
    dtypes=(FLOOR_DTYPE,),
    bytes_moved=lambda size, dtype: (size + 1) * np.dtype(dtype).itemsize,
    flops=lambda size: 0,
    differentiable=(),
)
"""`Op` with what all ops of the floor share: of inputs and results one is of `size` elements, the other is one."""


@lru_cache(maxsize=4)
def unaligned_result(size: int) -> Any:
    """Return the one array `(size,)` that does not begin at a multiple of 64 bytes, as NumPy's usually do not."""
    return unaligned(np.ones(size, FLOOR_DTYPE))


@lru_cache(maxsize=4)
def aligned_result(size: int) -> Any:
    """Return the one array `(size,)` that begins at a multiple of 64 bytes."""
    return aligned(np.ones(size, FLOOR_DTYPE))


@lru_cache(maxsize=4)
def tensor_result(size: int) -> Any:
    """Return the one eager tensor `(size,)`; to be asked for only where code runs eagerly."""
    return tf.ones(size, FLOOR_DTYPE)


def size_as_input(size: int, dtype: str, rng: np.random.Generator) -> tuple[Any, ...]:
    """Return one array `(1,)` that holds the size of the result; float32 holds whole numbers to 16,777,216."""
    return (np.array([size], dtype),)

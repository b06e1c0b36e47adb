"""Where arrays begin in memory: TensorFlow takes a callback's result over without a copy only from a multiple of 64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopbench.ports.arrays import as_given

ALIGNMENT_BYTES = 64
"""`EIGEN_MAX_ALIGN_BYTES` of TensorFlow's builds, which `PyFuncOp` asks for (tensorflow/python/lib/core/py_func.cc)."""

USUAL_OFFSET_BYTES = 16
"""Past such a multiple: malloc on 64-bit machines gives multiples of 16, and NumPy takes what malloc gives."""


def aligned(array: Any) -> Any:
    """Return a copy of an array, of the same shape and dtype, that begins at a multiple of 64 bytes."""
    return _copy_at(array, 0)


def unaligned(array: Any) -> Any:
    """Return a copy of an array, of the same shape and dtype, that begins 16 bytes past a multiple of 64."""
    return _copy_at(array, USUAL_OFFSET_BYTES)


def aligned_as_given(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies as a callback in a graph gets them: the tensors' own memory, which is aligned; text as objects."""
    copies = as_given(arrays)
    return tuple(copy if not np.ndim(copy) or copy.dtype.kind == "O" else aligned(copy) for copy in copies)


def _copy_at(array: Any, offset: int) -> Any:
    memory = np.empty(array.nbytes + 2 * ALIGNMENT_BYTES, np.uint8)
    start = -int(memory.ctypes.data) % ALIGNMENT_BYTES + offset
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy

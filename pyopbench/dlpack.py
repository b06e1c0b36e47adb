"""DLPack between tensors and arrays, on every TensorFlow that has `tf.experimental.dlpack`, by NumPy's own half of it.

Only newer tensors have `__dlpack__` themselves; a capsule of `to_dlpack` does the same on all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.alignment import is_aligned
from pyopbench.errors import Unsupported

CPU = (1, 0)
"""`kDLCPU` and the number of the device (dlpack.h)."""


class _Exporter:
    """What `np.from_dlpack` asks for, around a tensor."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **_: Any) -> Any:
        return tf.experimental.dlpack.to_dlpack(self._tensor)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU


def array_of(tensor: Any) -> Any:
    """Return an eager tensor on the CPU as an array of the same shape and dtype, by DLPack."""
    return np.from_dlpack(_Exporter(tensor))


def tensor_of(array: Any) -> Any:
    """Return an array as an eager tensor of the same shape and dtype, by DLPack.

    Raises:
        tensorflow.errors.InvalidArgumentError: the array is not contiguous.
        Unsupported: it is contiguous and does not begin at a multiple of 64 bytes.
    """
    # TensorFlow takes it, and any op on it then fails its check IsAligned() (tensorflow/core/framework/tensor.h),
    # which ends the process (tests/test_dlpack.py).
    if array.flags.c_contiguous and not is_aligned(array):
        raise Unsupported("TensorFlow makes a tensor of it, and the first op on that ends the process (IsAligned)")
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())

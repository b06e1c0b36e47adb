"""DLPack hands memory over both ways, and numbers arrive whole."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import dlpack
from pyopbench.alignment import aligned, unaligned
from pyopbench.errors import Unsupported

ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_a_tensor_becomes_an_array_in_the_same_memory() -> None:
    tensor = tf.constant(ARRAY)
    array = dlpack.array_of(tensor)
    assert np.array_equal(array, ARRAY)
    assert array.dtype == np.float32
    assert array.ctypes.data == dlpack.array_of(tensor).ctypes.data


def test_what_is_written_to_an_array_afterwards_is_seen_in_its_tensor() -> None:
    array = aligned(ARRAY)
    tensor = dlpack.tensor_of(array)
    array[0, 0] = 100
    assert float(tensor[0, 0]) == 100


def test_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="strides"):
        dlpack.tensor_of(ARRAY[:, ::2])


def test_an_unaligned_array_is_refused() -> None:
    with pytest.raises(Unsupported, match="ends the process"):
        dlpack.tensor_of(unaligned(ARRAY))


def test_an_op_on_a_tensor_of_an_unaligned_array_ends_the_process() -> None:
    """That is why they are refused; once this fails, they need not be."""
    code = """
import numpy as np, tensorflow as tf
from pyopbench.alignment import unaligned
tensor = tf.experimental.dlpack.from_dlpack(unaligned(np.ones(12, np.float32)).__dlpack__())
print(tensor.numpy().sum(), flush=True)
tensor + 1
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines() == ["12.0"]
    assert done.returncode == -signal.SIGABRT
    assert "IsAligned()" in done.stderr

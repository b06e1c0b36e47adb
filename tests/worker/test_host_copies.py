"""What shares memory is told by pointers, on bridges whose answer is known; costs come from the sampler."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import Unsupported
from pyopbench.ops.alignment import aligned, unaligned
from pyopbench.worker import host_copies
from pyopbench.worker.host_copies import IN, OUT, TENSOR, HostCopy, PreparedCopy

pytestmark = pytest.mark.measures

ENDS_THE_PROCESS = "TensorFlow accepts it, but the first op on it ends the process (IsAligned)"


def test_an_address_is_that_of_the_numbers_themselves() -> None:
    array = np.arange(100, dtype=np.float32)
    assert host_copies.address_of(array[10:]) == host_copies.address_of(array) + 40
    tensor = tf.constant(array)
    assert host_copies.address_of(tensor) == host_copies.address_of(tensor)
    assert host_copies.address_of(tensor) != host_copies.address_of(tf.constant(array))
    assert host_copies.address_of(tensor) != host_copies.address_of(tensor.numpy())


@pytest.mark.parametrize(
    ("bridge", "direction", "mode", "layout", "shared"),
    [
        ("tensor.numpy()", IN, "eager", TENSOR, False),  # documented to copy
        ("numpy_function", IN, "call", TENSOR, True),
        ("py_func", IN, "call", TENSOR, True),
        ("numpy_function", IN, "eager", TENSOR, False),
        ("py_function, .numpy()", IN, "call", TENSOR, False),
        ("numpy_function", OUT, "call", "aligned", True),
        ("numpy_function", OUT, "call", "unaligned", False),
        ("numpy_function", OUT, "call", "strided", False),
        ("py_function, .numpy()", OUT, "call", "aligned", False),
        ("tf.constant", OUT, "eager", "unaligned", False),
        ("np.from_dlpack", IN, "eager", TENSOR, True),
        ("dlpack.from_dlpack", OUT, "eager", "aligned", True),
    ],
)
def test_what_shares_memory(bridge: str, direction: str, mode: str, layout: str, shared: bool) -> None:
    trip = PreparedCopy(HostCopy(bridge, direction, mode, layout), 1000)
    assert trip.is_shared() is shared
    assert trip.is_shared() is shared


def test_a_body_in_a_graph_can_overwrite_the_tensor_of_its_caller_and_an_eager_one_cannot() -> None:
    for bridge in ("numpy_function", "py_func"):
        assert host_copies.hazard(bridge, "call")
        assert not host_copies.hazard(bridge, "eager")


def test_layouts_are_what_they_are_called() -> None:
    array = np.arange(1000, dtype=np.float32)
    for name, make in host_copies.LAYOUTS.items():
        made = make(array)
        assert np.array_equal(made, array)
        assert made.flags.c_contiguous == (name != "strided")
    assert host_copies.address_of(host_copies.LAYOUTS["aligned"](array)) % 64 == 0
    assert host_copies.address_of(host_copies.LAYOUTS["unaligned"](array)) % 64 == 16


def test_every_way_over_every_bridge_is_there_once() -> None:
    ways = host_copies.every_copy()
    assert len(ways) == len(set(ways)) == 6 + 3 + 3 * (6 + 3)


def test_a_way_that_tensorflow_refuses_is_told_with_its_reason() -> None:
    possible, refused = host_copies._tried(1000)
    ways = [(one["bridge"], one["direction"], one["layout"]) for one in refused]
    assert ways == [("dlpack.from_dlpack", OUT, "unaligned"), ("dlpack.from_dlpack", OUT, "strided")]
    assert refused[0]["reason"] == ENDS_THE_PROCESS
    assert "strides" in refused[1]["reason"]
    assert len(possible) == len(host_copies.every_copy()) - 2


ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_a_tensor_becomes_an_array_in_the_same_memory() -> None:
    tensor = tf.constant(ARRAY)
    array = host_copies.array_of(tensor)
    assert np.array_equal(array, ARRAY)
    assert array.dtype == np.float32
    assert array.ctypes.data == host_copies.array_of(tensor).ctypes.data


def test_what_is_written_to_an_array_afterwards_is_seen_in_its_tensor() -> None:
    array = aligned(ARRAY)
    tensor = host_copies.tensor_of(array)
    array[0, 0] = 100
    assert float(tensor[0, 0]) == 100


def test_an_array_with_gaps_is_refused() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="strides"):
        host_copies.tensor_of(ARRAY[:, ::2])


def test_an_unaligned_array_is_refused() -> None:
    with pytest.raises(Unsupported) as refused:
        host_copies.tensor_of(unaligned(ARRAY))
    assert refused.value.message == ENDS_THE_PROCESS


def test_an_op_on_a_tensor_of_an_unaligned_array_ends_the_process() -> None:
    """That is why they are refused; once this fails, they need not be."""
    code = """
import numpy as np, tensorflow as tf
from pyopbench.ops.alignment import unaligned
tensor = tf.experimental.dlpack.from_dlpack(unaligned(np.ones(12, np.float32)).__dlpack__())
print(tensor.numpy().sum(), flush=True)
tensor + 1
print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.splitlines() == ["12.0"]
    assert done.returncode == -signal.SIGABRT
    assert "IsAligned()" in done.stderr

"""What shares memory is told by pointers, on bridges whose answer is known; costs come from the sampler."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from pyopbench import bridges
from pyopbench.bridges import IN, OUT, TENSOR, Crossing, Trip

pytestmark = pytest.mark.measures


def test_an_address_is_that_of_the_numbers_themselves() -> None:
    array = np.arange(100, dtype=np.float32)
    assert bridges.address_of(array[10:]) == bridges.address_of(array) + 40
    tensor = tf.constant(array)
    assert bridges.address_of(tensor) == bridges.address_of(tensor)
    assert bridges.address_of(tensor) != bridges.address_of(tf.constant(array))
    assert bridges.address_of(tensor) != bridges.address_of(tensor.numpy())


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
    trip = Trip(Crossing(bridge, direction, mode, layout), 1000)
    assert trip.is_shared() is shared
    assert trip.is_shared() is shared


def test_a_body_in_a_graph_can_overwrite_the_tensor_of_its_caller_and_an_eager_one_cannot() -> None:
    for bridge in ("numpy_function", "py_func"):
        assert bridges.hazard(bridge, "call")
        assert not bridges.hazard(bridge, "eager")


def test_layouts_are_what_they_are_called() -> None:
    array = np.arange(1000, dtype=np.float32)
    for name, make in bridges.LAYOUTS.items():
        made = make(array)
        assert np.array_equal(made, array)
        assert made.flags.c_contiguous == (name != "strided")
    assert bridges.address_of(bridges.LAYOUTS["aligned"](array)) % 64 == 0
    assert bridges.address_of(bridges.LAYOUTS["unaligned"](array)) % 64 == 16


def test_every_way_over_every_bridge_is_there_once() -> None:
    ways = bridges.crossings()
    assert len(ways) == len(set(ways)) == 6 + 3 + 3 * (6 + 3)


def test_a_way_that_tensorflow_refuses_is_told_with_its_reason() -> None:
    possible, refused = bridges._tried(1000)
    ways = [(one["bridge"], one["direction"], one["layout"]) for one in refused]
    assert ways == [("dlpack.from_dlpack", OUT, "unaligned"), ("dlpack.from_dlpack", OUT, "strided")]
    assert "ends the process" in refused[0]["reason"]
    assert "strides" in refused[1]["reason"]
    assert len(possible) == len(bridges.crossings()) - 2

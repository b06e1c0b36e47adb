"""The floor is what it says: results that begin where they should, that are kept, and cross every bridge unharmed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.discover import find
from pyopbench.ops.load import load_op, load_variant, make_inputs
from pyopbench.worker.prepare.prepare import prepare

FLOOR = {name: load_op(name) for name in find("floor")}


@pytest.mark.parametrize("size", FLOOR["floor_produce"].sizes)
def test_a_result_is_not_aligned_and_always_the_same_array(size: int) -> None:
    op = FLOOR["floor_produce"]
    inputs = make_inputs(op, size, "float32")
    assert [array.shape for array in inputs] == [(1,)]
    result = op.numpy(*inputs)
    assert result.shape == (size,)
    assert result.ctypes.data % 64 == 16
    assert op.numpy(*inputs) is result


def test_a_graph_copies_what_is_not_aligned() -> None:
    op = FLOOR["floor_produce"]
    function = tf.function(lambda x: tf.numpy_function(op.numpy, [x], tf.float32), autograph=False)
    inputs = make_inputs(op, 10_000, "float32")
    given = np.asarray(function(tf.constant(inputs[0])))
    assert not np.shares_memory(given, op.numpy(*inputs))


def test_consuming_gives_one_element_whatever_comes_in() -> None:
    op = FLOOR["floor_consume"]
    for size in op.sizes:
        inputs = make_inputs(op, size, "float32")
        assert [array.shape for array in inputs] == [(size,)]
        assert op.numpy(*inputs).shape == (1,)


def case(op: str, variant: str, size: int = 10_000, dtype: str = "float32") -> Case:
    return Case(op, variant, "none", "forward", "call", dtype, size)


@pytest.mark.parametrize("variant", ["numpy_function", "py_function", "py_function_numpy"])
@pytest.mark.parametrize("op", FLOOR)
def test_the_floor_crosses_every_bridge_with_the_right_values(op: str, variant: str) -> None:
    if getattr(FLOOR[op], load_variant(variant).body) is None:
        pytest.skip("a tensor has no alignment to choose")
    prepared = prepare(case(op, variant))
    assert prepared.checked.values == 0.0


# Parts


def test_the_body_alone_is_called_on_aligned_arrays_without_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    prepared = prepare(case("sinh", "numpy_alone", 1000))
    (call,) = prepared.segments
    monkeypatch.setattr(np, "sinh", seen.append)
    call()
    assert [type(x) for x in seen] == [np.ndarray]
    assert seen[0].ctypes.data % 64 == 0


def test_the_tensor_body_alone_runs_eagerly() -> None:
    prepared = prepare(case("sinh", "tensor_alone", 10))
    (call,) = prepared.segments
    assert isinstance(call(), type(tf.constant(1.0)))

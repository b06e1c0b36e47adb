"""Which batches a callback could get instead of elements, with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops

from pyopbench.find.injected.recorder import STAGE, Recorder

OFFSETS = tf.ones(1000)
"""Too many for TensorFlow to make a constant of them in each graph."""
COUNTER = tf.Variable(0)


@pytest.fixture(autouse=True)
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder(tmp_path, asked={"flights": True})
    monkeypatch.setattr(dataset_ops.DatasetV2, "batch", dataset_ops.DatasetV2.batch)  # to be restored
    made.watch_batches(dataset_ops)
    return made


def call_back(*inputs: Any) -> Any:
    return tf.numpy_function(lambda *arrays: np.float32(sum(map(np.sum, arrays))), list(inputs), tf.float32)


def with_shape(x: Any) -> Any:
    one = call_back(x)
    one.set_shape([])
    return {"x": one, "y": x}


def counted(x: Any) -> Any:
    COUNTER.assign_add(1)
    return call_back(x)


def size_of(function: Callable[..., Any], *datasets: Any, size: Any = 4) -> int | None:
    """Return the batch size that is recorded for a function that is mapped over some datasets; None for none."""
    stage: dict[str, Any] = {}
    setattr(function, STAGE, stage)
    for dataset in datasets:
        assert len(list(dataset.map(function).batch(size))) == 2
    return stage.get("batch")


@pytest.mark.parametrize(
    ("function", "is_recorded"),
    [
        (lambda x, y: (call_back(x), y), True),
        (lambda x, y: call_back(y, x), True),
        (lambda x, y: (with_shape(x), y), True),
        (lambda x, y: (call_back(x) + 1.0, y), False),
        (lambda x, y: (call_back(2.0 * x), y), False),
        (lambda x, y: (call_back(x, OFFSETS), y), False),
        (lambda x, y: (call_back(x), call_back(y)), False),
        (lambda x, y: (call_back(x), 2.0 * y), False),
        (lambda x, y: (call_back(x), OFFSETS), False),
        (lambda x, y: (counted(x), y), False),
    ],
)
def test_only_a_map_that_does_nothing_else_gets_batches(function: Callable[..., Any], *, is_recorded: bool) -> None:
    dataset = tf.data.Dataset.from_tensor_slices((tf.range(6.0), tf.range(6.0)))
    assert size_of(function, dataset) == (4 if is_recorded else 0)


def test_the_ops_around_recorded_callbacks_do_not_count(recorder: Recorder) -> None:
    timer = recorder.flights
    assert timer is not None

    def timed(x: Any) -> Any:
        return timer.call("a", [x], tf.numpy_function, (lambda one: one, [x], tf.int64), {})

    assert size_of(timed, tf.data.Dataset.range(6)) == 4
    assert timer.total("a") is not None


def test_every_dataset_has_to_take_batches() -> None:
    specification = tf.TensorSpec([None], tf.float32)
    ragged = tf.data.Dataset.from_generator(lambda: [np.ones(3)] * 6, output_signature=specification)
    assert size_of(call_back, ragged) == 0
    assert size_of(call_back, tf.data.Dataset.range(6), ragged, tf.data.Dataset.range(6)) == 0


def test_a_batch_that_does_not_follow_is_not_recorded() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(tf.range(6.0))
    assert size_of(call_back) is None
    assert len(list(dataset.map(call_back).shuffle(2).batch(3))) == 2
    assert getattr(call_back, STAGE) == {}


def test_a_symbolic_batch_size_is_not_recorded() -> None:
    @tf.function
    def total(size: Any) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices(tf.range(6.0)).map(call_back).batch(size)
        return dataset.reduce(0.0, lambda so_far, one: so_far + tf.reduce_sum(one))

    assert size_of(call_back) is None
    assert float(total(tf.constant(4, tf.int64))) == 15.0
    assert getattr(call_back, STAGE) == {}

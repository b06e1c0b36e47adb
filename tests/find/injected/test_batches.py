"""Which batches a callback could get instead of elements, with TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops

from pyopbench.find.injected.recorder import Recorder

OFFSET = tf.constant(1.0)


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder(tmp_path)
    monkeypatch.setattr(dataset_ops.DatasetV2, "batch", dataset_ops.DatasetV2.batch)  # to be restored
    made.watch_batches(dataset_ops)
    return made


def call_back(*inputs: Any) -> Any:
    return tf.numpy_function(lambda *arrays: np.float32(sum(arrays)), list(inputs), tf.float32)


def with_shape(x: Any) -> Any:
    one = call_back(x)
    one.set_shape([])
    return {"x": one, "y": x}


@pytest.mark.parametrize(
    ("function", "is_recorded"),
    [
        (lambda x, y: (call_back(x), y), True),
        (lambda x, y: call_back(y, x), True),
        (lambda x, y: (with_shape(x), y), True),
        (lambda x, y: (call_back(x) + 1.0, y), False),
        (lambda x, y: (call_back(2.0 * x), y), False),
        (lambda x, y: (call_back(x, OFFSET), y), False),
        (lambda x, y: (call_back(x), call_back(y)), False),
        (lambda x, y: (call_back(x), 2.0 * y), False),
        (lambda x, y: (call_back(x), OFFSET), False),
    ],
)
def test_only_a_map_that_does_nothing_else_gets_batches(
    recorder: Recorder, function: Callable[..., Any], *, is_recorded: bool
) -> None:
    stage: dict[str, Any] = {}
    recorder.stages[function.__code__] = stage
    mapped = tf.data.Dataset.from_tensor_slices((tf.range(6.0), tf.range(6.0))).map(function)
    assert len(list(mapped.batch(4))) == 2
    assert stage == ({"batch": 4} if is_recorded else {})


def test_a_batch_of_another_dataset_is_not_noted(recorder: Recorder) -> None:
    def function(x: Any) -> Any:
        return call_back(x)

    stage: dict[str, Any] = {}
    recorder.stages[function.__code__] = stage
    dataset = tf.data.Dataset.range(6).map(lambda x: tf.cast(x, tf.float32))
    assert len(list(dataset.batch(2).unbatch().map(function).shuffle(2).batch(3))) == 2
    assert stage == {}


def test_a_symbolic_batch_size_is_not_recorded(recorder: Recorder) -> None:
    def function(x: Any) -> Any:
        return call_back(x)

    @tf.function
    def total(size: Any) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices(tf.range(6.0)).map(function).batch(size)
        return dataset.reduce(0.0, lambda so_far, one: so_far + tf.reduce_sum(one))

    stage: dict[str, Any] = {}
    recorder.stages[function.__code__] = stage
    assert float(total(tf.constant(4, tf.int64))) == 15.0
    assert stage == {}

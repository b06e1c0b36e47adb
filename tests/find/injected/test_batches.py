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
from pyopbench.find.injected.tallies import Site

OFFSETS = tf.ones(1000)
"""Too many for TensorFlow to make a constant of them in each graph."""
COUNTER = tf.Variable(0)


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    made = Recorder(tmp_path, asked={"flights": True})
    for name in ("map", "batch"):  # to be restored
        monkeypatch.setattr(dataset_ops.DatasetV2, name, getattr(dataset_ops.DatasetV2, name))
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


def sizes(recorder: Recorder) -> list[int]:
    """Return the batch size of each call of `map`, 0 where not all of its datasets could get batches."""
    return [one.size if one.maps == one.batched else 0 for one in recorder.map_uses.values()]


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
def test_only_a_map_that_does_nothing_else_gets_batches(
    recorder: Recorder, function: Callable[..., Any], *, is_recorded: bool
) -> None:
    mapped = tf.data.Dataset.from_tensor_slices((tf.range(6.0), tf.range(6.0))).map(function)
    assert len(list(mapped.batch(4))) == 2
    assert sizes(recorder) == [4 if is_recorded else 0]


def test_the_ops_around_recorded_callbacks_do_not_count(recorder: Recorder) -> None:
    assert recorder.flights is not None
    flights, site = recorder.flights, Site(("train.py", 3, "f", "numpy_function", "graph"), "f")
    mapped = tf.data.Dataset.range(6).map(
        lambda x: flights.call(site, tf.numpy_function, (lambda one: one, [x], tf.int64), {})
    )
    assert len(list(mapped.batch(4))) == 2
    assert flights.seconds(site) is not None
    assert sizes(recorder) == [4]


def test_all_datasets_of_a_call_of_map_have_to_get_batches(recorder: Recorder) -> None:
    def made(function: Callable[..., Any]) -> Any:
        return tf.data.Dataset.from_tensor_slices(tf.range(6.0)).map(function)

    made(call_back).batch(4)
    assert sizes(recorder) == [4]
    made(lambda x: 2.0 * x).batch(4)
    assert sizes(recorder) == [0]
    recorder.map_uses.clear()
    made(call_back).batch(4)
    made(call_back).cache()
    assert sizes(recorder) == [0]


def test_a_batch_that_does_not_follow_is_not_recorded(recorder: Recorder) -> None:
    dataset = tf.data.Dataset.from_tensor_slices(tf.range(6.0))
    assert len(list(dataset.batch(2).unbatch().map(call_back).shuffle(2).batch(3))) == 2
    assert {*sizes(recorder)} == {0}


def test_elements_whose_shapes_may_differ_make_no_batch(recorder: Recorder) -> None:
    specification = tf.TensorSpec([None], tf.float32)
    dataset = tf.data.Dataset.from_generator(lambda: [np.ones(3), np.ones(3)], output_signature=specification)
    assert len(list(dataset.map(call_back).batch(2))) == 1
    assert sizes(recorder) == [0]


def test_a_symbolic_batch_size_is_not_recorded(recorder: Recorder) -> None:
    @tf.function
    def total(size: Any) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices(tf.range(6.0)).map(call_back).batch(size)
        return dataset.reduce(0.0, lambda so_far, one: so_far + tf.reduce_sum(one))

    assert float(total(tf.constant(4, tf.int64))) == 15.0
    assert sizes(recorder) == [0]

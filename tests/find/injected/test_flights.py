"""How long calls of a callback take in a graph, from where inputs are ready to where outputs are: with TensorFlow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.find.injected.recorder import GraphTimer

CLOCK_SECONDS = 2e-6
"""What the clock of TensorFlow is rounded to, twice."""


class Work:
    """A callback, and how long it was inside."""

    def __init__(self) -> None:
        self.calls, self.seconds = 0, 0.0

    def __call__(self, x: Any) -> Any:
        begun = time.perf_counter()
        found = np.sort(np.tile(x, 2000))[:3]
        self.calls += 1
        self.seconds += time.perf_counter() - begun
        return found


def call(timer: GraphTimer, work: Callable[..., Any], x: Any) -> Any:
    return timer.call("a", [x], tf.numpy_function, (work, [x], tf.float32), {})


@pytest.mark.parametrize("where", ["function", "map"])
def test_a_flight_holds_the_body_and_changes_nothing(where: str) -> None:
    timer, work = GraphTimer(), Work()
    assert timer.total("a") is None
    x = tf.constant([3.0, 1.0, 2.0])
    if where == "function":
        function = tf.function(lambda one: call(timer, work, one))
        found = [function(x) for _ in range(4)]
    else:
        found = list(tf.data.Dataset.from_tensors(x).repeat(4).map(lambda one: call(timer, work, one)))
    assert work.calls == 4
    assert [one.numpy().tolist() for one in found] == [[1, 1, 1]] * 4
    total = timer.total("a")
    assert total is not None
    assert total[0] == 4
    assert total[1] >= work.seconds - 4 * CLOCK_SECONDS
    assert timer.trouble == ""


def test_a_graph_of_tensorflow_1_is_left_as_it_is_with_word_of_it() -> None:
    timer, work = GraphTimer(), Work()
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        found = call(timer, work, tf.constant([3.0, 1.0, 2.0]))
        assert session.run(found).tolist() == [1, 1, 1]
    assert timer.trouble
    assert timer.total("a") is None

"""A pipeline that was drawn from comes to rest before another is timed, however long its callbacks take."""

from __future__ import annotations

import math
from typing import Any

import pytest
import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.worker.pipeline import measure
from pyopbench.worker.pipeline.arrangements import PipelineContext, PipelineSettings
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.measure import RunningPipeline


class BusyClock:
    """A clock whose process works on what runs ahead for so many seconds, and then no more."""

    def __init__(self, busy_seconds: float) -> None:
        self.seconds, self.busy_seconds = 0.0, busy_seconds

    def perf_counter(self) -> float:
        """Return the seconds that have passed."""
        return self.seconds

    def process_time(self) -> float:
        """Return the seconds of work until now."""
        return min(self.seconds, self.busy_seconds)

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.seconds += seconds


@pytest.fixture(scope="module")
def context() -> PipelineContext:
    """Return an op of pyopbench's own, in pipelines on one core."""
    elements = make_elements("cube", "py_function_numpy", 10, "float32", 32)
    return PipelineContext(elements, PipelineSettings((1,), (8,), processes=1))


def pipeline_of(context: PipelineContext, seconds_per_element: float, arrangement: Arrangement) -> RunningPipeline:
    """Return a pipeline whose elements took so long when they were last timed."""

    def build(context: PipelineContext) -> tf.data.Dataset:
        return context.elements.source().batch(arrangement.batch)

    pipeline = RunningPipeline(arrangement, build, context)
    pipeline.seconds_per_element = seconds_per_element
    return pipeline


@pytest.mark.parametrize(
    ("busy", "each", "rested"),
    [
        pytest.param(0.0, 1e-3, 0.0, id="at rest already"),
        pytest.param(0.2, 1e-6, 0.2, id="quick elements, something else to do"),
        pytest.param(9.0, 1e-6, measure.LEAST_REST_SECONDS, id="busy for another reason"),
        pytest.param(1.0, 1e-2, 1.0, id="a batch of slow elements"),
        pytest.param(99.0, 1.0, measure.MOST_REST_SECONDS, id="a batch for which nobody can wait"),
    ],
)
def test_a_pipeline_is_waited_for_as_long_as_filling_its_buffers_takes(
    context: PipelineContext, monkeypatch: pytest.MonkeyPatch, busy: float, each: float, rested: float
) -> None:
    pipeline = pipeline_of(context, each, Arrangement("batch_loop", "batch", "", batch=64))
    clock = BusyClock(busy)
    monkeypatch.setattr(measure, "time", clock)
    pipeline.rest()
    assert clock.seconds == pytest.approx(rested, abs=2 * measure.QUIET_SECONDS)


class Bursts:
    """A clock of a pipeline that makes so many batches at the same time, and the loop that draws from it."""

    def __init__(self, pipeline: RunningPipeline, at_once: int, batch: int, seconds: float) -> None:
        self.seconds, self._drawn, self._pipeline = 0.0, 0, pipeline
        self._burst, self._burst_seconds = at_once * batch, seconds

    def perf_counter(self) -> float:
        """Return the seconds that have passed."""
        return self.seconds

    def draw(self, deliveries: Any) -> None:
        """Let pass what it takes until the last of so many deliveries is there."""
        self._drawn += int(deliveries) * self._pipeline.delivered
        self.seconds = math.ceil(self._drawn / self._burst) * self._burst_seconds


def test_a_warm_up_finds_out_how_long_an_element_takes(
    context: PipelineContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = pipeline_of(context, math.inf, Arrangement("batch_loop", "batch", "", batch=32))
    clock = Bursts(pipeline, 1, 32, 0.2)
    monkeypatch.setattr(measure, "time", clock)
    monkeypatch.setattr(pipeline, "_draw", clock.draw)
    pipeline.warm_up()
    assert measure.WARM_UP_SECONDS <= clock.seconds <= measure.WARM_UP_SECONDS + 0.4
    assert pipeline.seconds_per_element == pytest.approx(0.2 / 32)


@pytest.mark.parametrize("parallel", [1, 2, 3, 4])
def test_a_block_holds_all_batches_that_come_at_the_same_time(
    context: PipelineContext, monkeypatch: pytest.MonkeyPatch, parallel: int
) -> None:
    """By hand: 32 elements a batch, so many batches each 0.2 s; every block takes as long as that says."""
    batch, each = 32, 0.2 / (32 * parallel)
    pipeline = pipeline_of(context, each, Arrangement("processes", "processes", "", parallel, batch))
    clock = Bursts(pipeline, parallel, batch, 0.2)
    monkeypatch.setattr(measure, "time", clock)
    monkeypatch.setattr(pipeline, "_check_delivery", lambda: clock.draw(1))
    monkeypatch.setattr(pipeline, "_draw", clock.draw)
    for _ in range(6):
        elements, seconds = pipeline.block(0.1)
        assert seconds / elements == pytest.approx(each)

"""A pipeline that was drawn from comes to rest before another is timed, however long its callbacks take.

The end of the warm-up is where the rest is steady.
"""

from __future__ import annotations

import itertools
import math
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.errors import WrongResult
from pyopbench.worker.pipeline import measure
from pyopbench.worker.pipeline.elements import make_elements
from pyopbench.worker.pipeline.form import PipelineContext, PipelineSettings
from pyopbench.worker.pipeline.measure import RunningPipeline, require_draws_apart, warm_up_of


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
    return PipelineContext(elements, PipelineSettings((1,), (8,), deterministic=True, processes=1))


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


def test_only_parallel_calls_run_ahead(context: PipelineContext) -> None:
    def buffered(parallel: int) -> int:
        return pipeline_of(context, 1.0, Arrangement("map", "keep", "", parallel, 16))._buffered

    assert buffered(2) - buffered(1) == 2 * 16


def test_blocks_are_as_long_as_what_was_typical_says_and_not_the_first_elements(context: PipelineContext) -> None:
    pipeline = pipeline_of(context, math.inf, Arrangement("batch_loop", "batch", "", batch=24))
    found = pipeline.warm_up(100, 0.25)
    assert found.seconds_per_element == found.seconds / found.elements
    assert pipeline.seconds_per_element == 0.25


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


def test_a_warm_up_whose_length_is_known_draws_whole_periods_of_it(context: PipelineContext) -> None:
    pipeline = pipeline_of(context, math.inf, Arrangement("batch_loop", "batch", "", batch=24))
    found = pipeline.warm_up(100)
    assert found.is_steady
    assert found.elements % pipeline.period == 0
    assert 100 <= found.elements < 100 + pipeline.period
    assert pipeline.seconds_per_element == found.seconds_per_element == found.seconds / found.elements


@pytest.mark.skipif(not hasattr(tf.data.experimental, "get_model_proto"), reason="TensorFlow does not report it")
def test_what_autotune_has_chosen_is_what_tensorflow_reports(context: PipelineContext) -> None:
    def build(context: PipelineContext) -> tf.data.Dataset:
        return context.elements.source().map(lambda x, number: (x + 1, number), num_parallel_calls=tf.data.AUTOTUNE)

    pipeline = RunningPipeline(Arrangement("map", "parallel", "", AUTOTUNE), build, context)
    pipeline._timed(32)
    found = pipeline.autotuned()
    assert found is not None
    assert len(found["parallel"]) == 1
    assert 1 <= min(found["parallel"].values()) <= found["cpu_budget"]
    assert found["ram_budget_bytes"] > 0


def test_a_number_of_calls_that_is_given_is_not_what_autotune_chose(context: PipelineContext) -> None:
    pipeline = pipeline_of(context, 1e-3, Arrangement("batch_loop", "batch", "", batch=64))
    pipeline._timed(64)
    assert pipeline.autotuned() is None


def series(slow: int, n: int = 24, seed: int = 0) -> list[float]:
    """Return seconds of chunks of which the first take three times as long, with 2% of noise."""
    rng = np.random.default_rng(seed)
    return [float((3.0 if place < slow else 1.0) * np.exp(rng.normal(0, 0.02))) for place in range(n)]


@pytest.mark.parametrize("slow", [1, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_slow_chunks_at_the_beginning_are_left_out(slow: int, seed: int) -> None:
    found = warm_up_of(series(slow, seed=seed))
    assert found is not None
    assert slow <= found <= 12


def test_a_steady_series_keeps_all_or_nearly_all() -> None:
    assert warm_up_of([1.0] * 12) == 0
    assert all((warm_up_of(series(0, seed=seed)) or 0) <= 12 for seed in range(20))


def test_a_warm_up_that_has_not_ended_is_none() -> None:
    assert warm_up_of(series(20)) is None
    assert warm_up_of([1.0]) is None
    assert warm_up_of([float(2**-place) for place in range(12)]) is None


def test_one_outlier_late_is_not_the_end_of_a_warm_up() -> None:
    found = series(0)
    found[-2] = 100.0
    assert (warm_up_of(found) or 0) <= 12


class StandInProcess:
    """A process of a pool that returns given numbers, one after another."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = itertools.cycle(numbers)

    def call(self, values: Any) -> list[Any]:
        """Return the next number."""
        return [np.float64(next(self.numbers))]


@pytest.mark.parametrize(
    ("first", "second", "is_right"),
    [
        ((0.1, 0.2, 0.3), (0.5, 0.6, 0.7), True),
        ((0.1, 0.2, 0.3), (0.1, 0.2, 0.3), False),
        ((1.0, 0.0, 0.0), (1.0, 0.0, 1.0), True),  # coins that begin alike
        ((1.0, 1.0, 0.0), (1.0, 1.0, 0.0), False),
        ((5.0, 5.0, 5.0), (5.0, 5.0, 5.0), True),  # for these inputs the body draws nothing
    ],
)
def test_processes_of_a_pool_that_draw_the_same_numbers_are_found(
    first: tuple[float, ...], second: tuple[float, ...], is_right: bool
) -> None:
    workers = [StandInProcess(*first), StandInProcess(*second)]
    idle = SimpleQueue[Any]()
    for worker in workers:
        idle.put(worker)
    pool = SimpleNamespace(_workers=workers, _idle=idle)
    op = SimpleNamespace(own=SimpleNamespace(is_random=True))
    elements = SimpleNamespace(op=op, inputs=[(np.ones(2),)], body_seconds=1.0)
    context: Any = SimpleNamespace(elements=elements, pool=lambda key: pool)
    arrangement = Arrangement("processes", "processes", "ds.map(pool)", 2, 0)
    if is_right:
        require_draws_apart(context, arrangement)
    else:
        with pytest.raises(WrongResult):
            require_draws_apart(context, arrangement)
    assert idle.qsize() == len(workers), "they are back in the pool"

"""Arrangements are measured interleaved, launch after launch; what hangs, dies or raises costs itself and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pipelines import ALL, BATCH, CURRENT, PARALLEL, POOL, PORT, TRIED, Clock, FakePipelineWorker
from pyopbench.engine.pipeline import (
    BUDGET_SECONDS,
    FEWEST_ROUNDS,
    LAUNCHES,
    MOST_LAUNCHES,
    THREADS,
    PipelineProgress,
    PipelineRequest,
    measure,
    thread_counts,
)
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store import pipeline_file
from pyopbench.store.strict_json import problem

SECONDS = {one.key: 1e-4 for one in ALL}
REQUEST = PipelineRequest("sinh")


def run(
    bad: Mapping[str, str] | None = None,
    seconds: Mapping[str, float] = SECONDS,
    request: PipelineRequest = REQUEST,
    told: list[PipelineProgress] | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]], Clock]:
    """Return the document, what workers were asked, and the clock."""
    clock, asked = Clock(), []  # type: ignore[var-annotated]
    tell = (lambda one: None) if told is None else told.append
    start = lambda: FakePipelineWorker(clock, seconds, bad or {}, asked)  # noqa: E731
    return measure(request, tell, start, clock), asked, clock  # type: ignore[arg-type]


def launches_of(document: Mapping[str, Any], key: str) -> set[int]:
    return {one["launch"] for one in document["blocks"] if one["key"] == key}


def test_every_arrangement_is_measured_in_every_round_of_every_launch_within_the_budget() -> None:
    document, _, clock = run()
    assert problem(document, pipeline_file.PipelineMeasurement) is None
    assert clock.now < BUDGET_SECONDS + 5
    for launch in range(LAUNCHES):
        rounds = [one for one in document["blocks"] if one["launch"] == launch]
        for turn in range(FEWEST_ROUNDS):
            assert {one["key"] for one in rounds if one["round"] == turn} == set(SECONDS)


def test_the_order_differs_from_round_to_round_and_is_the_same_for_a_seed() -> None:
    first, _, _ = run()
    second, _, _ = run()
    assert first["blocks"] == second["blocks"]
    orders = {
        tuple(one["key"] for one in first["blocks"] if (one["launch"], one["round"]) == (launch, turn))
        for launch in range(LAUNCHES)
        for turn in range(3)
    }
    assert len(orders) > 1


@pytest.mark.parametrize("bad", ["raised", "raised_in_blocks", "lost", "lost_in_blocks"])
def test_a_bad_arrangement_costs_itself_and_is_not_tried_again(bad: str) -> None:
    document, asked, _ = run({BATCH.key: bad})
    assert {one["key"] for one in document["failures"]} == {BATCH.key}
    assert launches_of(document, BATCH.key) == set()
    for one in (CURRENT, PARALLEL, POOL, PORT):
        assert launches_of(document, one.key) >= {0, 1, 2}
    tries = [one for one in asked if one.get("key") == BATCH.key]
    assert len(tries) == (2 if bad.endswith("in_blocks") else 1)


def test_threads_that_hang_cost_the_share_of_the_lock_alone() -> None:
    document, asked, _ = run({"pipeline_threads": "lost"})
    assert document["rates"] == []
    assert [one["key"] for one in document["failures"]] == [THREADS]
    assert launches_of(document, PORT.key) >= {0, 1, 2}
    assert sum(one["do"] == "pipeline_threads" for one in asked) == 1


def test_what_is_far_from_the_best_is_measured_once_but_for_the_current_callback() -> None:
    document, _, _ = run(seconds={**SECONDS, CURRENT.key: 1e-2, POOL.key: 1e-2})
    assert launches_of(document, POOL.key) == {0}
    assert launches_of(document, CURRENT.key) >= {0, 1, 2}
    assert launches_of(document, PORT.key) >= {0, 1, 2}
    assert sum(one["key"] == POOL.key for one in document["blocks"]) == 1


def test_what_keeps_up_with_the_training_step_is_measured_on_however_quick_the_best_is() -> None:
    seconds = {**SECONDS, CURRENT.key: 1e-2, POOL.key: 1e-2}
    document, _, _ = run(seconds=seconds, request=replace(REQUEST, step_seconds=6e-3))
    assert launches_of(document, POOL.key) >= {0, 1, 2}


def test_what_saves_nearly_as_much_of_the_current_time_is_measured_on_though_it_takes_several_times_as_long() -> None:
    """Of two that leave 1% and 4% of the time, the one of less work may be chosen."""
    document, _, _ = run(seconds={**SECONDS, CURRENT.key: 1e-2, POOL.key: 4e-4})
    assert launches_of(document, POOL.key) >= {0, 1, 2}


@pytest.mark.parametrize(
    ("current", "request_", "is_tried"),
    [
        (5e-3, REQUEST, True),  # a batch leaves 4% of the time: a port could save more than the smallest effect of it
        (1e-2, REQUEST, False),
        (1e-2, replace(REQUEST, minimum_effect=0.01), True),
        (1e-2, replace(REQUEST, step_seconds=2e-4), False),  # the batch hides behind the step, and the current does not
        (1e-2, replace(REQUEST, step_seconds=5e-2), False),  # the current callback hides behind it
    ],
)
def test_a_port_that_nobody_wrote_is_tried_only_where_it_could_be_chosen(
    current: float, request_: PipelineRequest, is_tried: bool
) -> None:
    seconds = {CURRENT.key: current, BATCH.key: 2e-4, PORT.key: 1e-6, TRIED.key: 1e-6}
    document, asked, _ = run(seconds=seconds, request=request_)
    assert (launches_of(document, TRIED.key) >= {0, 1}) == is_tried
    assert any(one.get("key") == TRIED.key for one in asked) == is_tried
    assert ([one["key"] for one in document["holes"]] == [TRIED.key]) != is_tried
    assert 0 in launches_of(document, PORT.key)


def test_what_is_only_tried_is_prepared_last() -> None:
    for seed in range(5):
        _, asked, _ = run(seconds={**SECONDS, TRIED.key: 1e-4}, request=replace(REQUEST, seed=seed))
        prepared = [one["key"] for one in asked if one["do"] == "pipeline_prepare"]
        assert prepared[5] == TRIED.key


def test_what_was_steady_in_a_launch_is_warmed_by_as_many_elements_in_later_ones() -> None:
    _, asked, _ = run()
    prepared = [one["elements"] for one in asked if (one["do"], one.get("key")) == ("pipeline_prepare", PORT.key)]
    assert prepared == [None, *[64] * (len(prepared) - 1)]
    assert len(prepared) >= 3
    typical = [one["typical_seconds"] for one in asked if (one["do"], one.get("key")) == ("pipeline_prepare", PORT.key)]
    assert typical == [None, *[pytest.approx(SECONDS[PORT.key])] * (len(prepared) - 1)]


def test_a_first_launch_that_takes_long_leaves_the_others_what_is_left_in_equal_parts() -> None:
    class SlowAtFirst(FakePipelineWorker):
        def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
            clock.now += 8.0 if request["do"] == "pipeline_prepare" and len(starts) == 1 else 0.0
            return super().ask(request)

    def start() -> FakePipelineWorker:
        starts.append(clock.now)
        return SlowAtFirst(clock, SECONDS, {}, [])

    clock, starts = Clock(), []  # type: ignore[var-annotated]
    document = measure(replace(REQUEST, launches=4, budget_seconds=120.0), lambda one: None, start, clock)  # type: ignore[arg-type]
    rounds = [len({one["round"] for one in document["blocks"] if one["launch"] == launch}) for launch in range(4)]
    assert rounds[0] == FEWEST_ROUNDS
    assert min(rounds[1:]) > FEWEST_ROUNDS
    assert max(rounds[1:]) - min(rounds[1:]) <= 1


def test_a_body_that_fails_alone_leaves_nothing_to_measure() -> None:
    for bad in ("raised", "lost"):
        with pytest.raises(NothingMeasured):
            run({"pipeline": bad})


def test_a_body_that_fails_in_a_later_launch_costs_no_launch_that_was_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = FakePipelineWorker.ask
    described = iter(range(100))

    def ask(worker: FakePipelineWorker, request: Mapping[str, Any]) -> dict[str, Any]:
        if request["do"] == "pipeline" and next(described) >= 2:
            return {"failure": "ValueError: no"}
        return asked(worker, request)

    monkeypatch.setattr(FakePipelineWorker, "ask", ask)
    document, _, _ = run()
    assert {one["launch"] for one in document["blocks"]} == {0, 1}


def test_without_the_current_callback_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(NothingMeasured) as error:
        run({CURRENT.key: "raised"})
    assert error.value.received == "ValueError: no"


def test_a_current_callback_that_fails_at_once_ends_it_without_waiting_for_the_others() -> None:
    asked: list[dict[str, Any]] = []
    clock = Clock()
    with pytest.raises(NothingMeasured):
        measure(
            REQUEST, lambda one: None, lambda: FakePipelineWorker(clock, SECONDS, {CURRENT.key: "lost"}, asked), clock
        )  # type: ignore[arg-type,return-value]
    assert clock.now < 30


def test_a_current_callback_that_fails_later_leaves_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = FakePipelineWorker.ask
    prepared = iter(range(100))

    def ask(worker: FakePipelineWorker, request: Mapping[str, Any]) -> dict[str, Any]:
        if (request["do"], request.get("key")) == ("pipeline_prepare", CURRENT.key) and next(prepared) >= 2:
            return {"failure": {"status": "raised", "reason": "ValueError: no"}}
        return asked(worker, request)

    monkeypatch.setattr(FakePipelineWorker, "ask", ask)
    document, _, _ = run()
    assert launches_of(document, CURRENT.key) == {0, 1}
    assert [one["key"] for one in document["failures"]] == [CURRENT.key]


def test_time_that_is_up_ends_the_launches() -> None:
    document, _, clock = run(request=replace(REQUEST, budget_seconds=10.0))
    assert {one["launch"] for one in document["blocks"]} < {0, 1, 2}
    assert clock.now < 30


def test_a_third_launch_that_would_end_far_too_late_is_not_begun() -> None:
    """What preparing takes is known from the launches before; two are made in any case, for an interval."""
    clock, asked = Clock(), []  # type: ignore[var-annotated]

    class SlowToPrepare(FakePipelineWorker):
        def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
            clock.now += 7.0 if request["do"] == "pipeline_prepare" else 0.0
            return super().ask(request)

    start = lambda: SlowToPrepare(clock, SECONDS, {}, asked)  # noqa: E731
    document = measure(replace(REQUEST, budget_seconds=100.0), lambda one: None, start, clock)  # type: ignore[arg-type]
    assert {one["launch"] for one in document["blocks"]} == {0, 1}


def test_progress_tells_what_is_done_and_how_much_time_is_left() -> None:
    told: list[PipelineProgress] = []
    run(told=told)
    assert {one.doing for one in told} == {"starting", "preparing", "sampling"}
    assert {one.key for one in told} >= set(SECONDS)
    left = [one.seconds_left for one in told]
    assert left == sorted(left, reverse=True)


@pytest.mark.parametrize(
    "request_", [PipelineRequest("sinhh"), PipelineRequest("sinh", batch=(0,)), PipelineRequest("sinh", baseline="xla")]
)
def test_what_cannot_be_measured_is_refused_before_a_worker_is_started(request_: PipelineRequest) -> None:
    with pytest.raises(BadInput):
        measure(request_, lambda one: None, lambda: pytest.fail("a worker was started"))


def test_threads_are_tried_by_powers_of_two_up_to_the_cores() -> None:
    assert thread_counts(2) == (2,)
    assert thread_counts(6) == (6, 4, 2)
    assert thread_counts(8) == (8, 4, 2)


def test_time_that_is_left_goes_into_further_launches() -> None:
    document, _, _ = run(request=replace(REQUEST, budget_seconds=600.0))
    assert {one["launch"] for one in document["blocks"]} == set(range(MOST_LAUNCHES))
    document, _, _ = run(request=replace(REQUEST, budget_seconds=55.0))
    assert {one["launch"] for one in document["blocks"]} == set(range(LAUNCHES))


@pytest.mark.parametrize("launches", [1, 4])
def test_no_more_launches_are_made_than_are_asked_for(launches: int) -> None:
    document, _, _ = run(request=replace(REQUEST, launches=launches, budget_seconds=600.0))
    assert {one["launch"] for one in document["blocks"]} == set(range(launches))

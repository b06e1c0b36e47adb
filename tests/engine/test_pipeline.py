"""An op in a pipeline is a run as any other: planned, measured launch after launch, resumed, judged in between."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pipelines
from pipelines import ALL, BATCH, CURRENT, PARALLEL, POOL, PORT, id_of
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import pipeline, worker_process
from pyopbench.engine.pipeline import PipelineRequest, begin
from pyopbench.engine.run import measure
from pyopbench.engine.stored_run import require_measured
from pyopbench.judge.judge import Judging, judge
from pyopbench.model.arrangement import CURRENT as CURRENT_KEY
from pyopbench.model.case import BASELINE, Case
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store.run import SAMPLES_FILE, OpenRun, open_run

SECONDS = {one.key: 1e-4 for one in ALL}
REQUEST = PipelineRequest("sinh", baseline=BASELINE, launches=3, budget_seconds=20.0, timeout_seconds=2.0)
JUDGING = Judging(BASELINE, 0.03)
Measure = Callable[..., OpenRun]


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """Return what measures with a fake worker, whose arrangements take known times and behave as they are told to."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))

    def run(
        behaviours: Mapping[str, str] | None = None,
        seconds: Mapping[str, float] = SECONDS,
        request: PipelineRequest = REQUEST,
        answer: Callable[[Any], Any] | None = None,
    ) -> OpenRun:
        monkeypatch.setenv("FAKE_WORKER_ARRANGEMENTS", json.dumps(behaviours or {}))
        monkeypatch.setenv("FAKE_WORKER_ELEMENTS", json.dumps(dict(seconds)))
        path = tmp_path / "plan"
        pipelines.write_answer(path)
        if answer is not None:
            path.write_text(json.dumps(answer(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
        begun = begin(tmp_path / "run", request, ("pyopbench", "pipeline"))
        deque(measure(begun, JUDGING), maxlen=0)
        return begun

    return run


def asked(tmp_path: Path, do: str) -> list[dict[str, Any]]:
    """Return what workers were asked to do."""
    found = map(json.loads, (tmp_path / "log").read_text(encoding="utf-8").splitlines())
    return [one for one in found if one["do"] == do]


def launches_of(run: OpenRun, key: str) -> set[int]:
    """Return the launches in which a case has samples."""
    return {line.launch for line in run.measured[0].lines if getattr(line, "samples", {}).get(key)}


def rows_of(run: OpenRun, key: str) -> list[list[float]]:
    """Return all rows of a case."""
    return [row for line in run.measured[0].lines for row in getattr(line, "samples", {}).get(key, ())]


def failures_of(run: OpenRun) -> dict[str, str]:
    """Return what has failed, by arrangement, and how."""
    lines = run.measured[0].lines
    return {Case.from_id(one.case).arrangement: one.status for line in lines for one in getattr(line, "failures", ())}


def test_every_arrangement_is_measured_in_every_launch(measured: Measure) -> None:
    run = measured()
    for key in map(id_of, ALL):
        assert launches_of(run, key) == {0, 1, 2}
    assert len(rows_of(run, id_of(PORT))) == 3 * REQUEST.settings.rounds
    require_measured(run.measured[0])
    assert judge([run], JUDGING).pipeline is not None


@pytest.mark.parametrize("how", ["raising", "late_raising", "hanging", "late_crashing"])
def test_a_bad_arrangement_costs_itself_and_is_not_tried_again(measured: Measure, how: str) -> None:
    run = measured({BATCH.key: how})
    assert {*failures_of(run)} == {BATCH.key}
    judgement = judge([run], JUDGING).pipeline
    assert judgement is not None
    assert judgement.by_key.keys() == {one.key for one in ALL} - {BATCH.key}
    assert len(launches_of(run, id_of(PORT))) == 3


def test_several_arrangements_that_cost_a_worker_each_leave_the_others_alone(measured: Measure) -> None:
    """They are of one variant, the current callback's, of which nothing would be left."""
    run = measured({BATCH.key: "crashing", POOL.key: "crashing", PARALLEL.key: "crashing"})
    assert {*failures_of(run)} == {BATCH.key, POOL.key, PARALLEL.key}
    assert len(launches_of(run, id_of(CURRENT))) == 3


def test_what_is_far_from_the_best_is_measured_once_but_for_the_current_callback(measured: Measure) -> None:
    run = measured(seconds={**SECONDS, CURRENT.key: 1e-2, POOL.key: 1e-2})
    assert len(rows_of(run, id_of(POOL))) == 1
    assert launches_of(run, id_of(CURRENT)) == launches_of(run, id_of(PORT)) == {0, 1, 2}


def test_what_keeps_up_with_the_training_step_is_measured_on(measured: Measure) -> None:
    seconds = {**SECONDS, CURRENT.key: 1e-2, POOL.key: 1e-2}
    run = measured(seconds=seconds, request=replace(REQUEST, step_seconds=6e-3))
    assert launches_of(run, id_of(POOL)) == {0, 1, 2}


def test_a_current_callback_that_fails_ends_the_run_and_is_nothing_to_compare_with(measured: Measure) -> None:
    run = measured({CURRENT.key: "raising"})
    assert {*failures_of(run)} == {CURRENT_KEY}
    with pytest.raises(NothingMeasured) as error:
        require_measured(run.measured[0])
    assert error.value.received == f"{run.folder}: 1 failure; the first: ValueError: no"


def test_a_current_callback_that_hangs_ends_the_run_without_waiting_for_the_others(
    measured: Measure, tmp_path: Path
) -> None:
    run = measured({CURRENT.key: "hanging"})
    assert failures_of(run) == {CURRENT_KEY: "timeout"}
    assert len(asked(tmp_path, "prepare")) == 1


@pytest.mark.parametrize("body", ["ValueError: no", "hanging"])
def test_a_body_that_fails_alone_leaves_nothing_to_measure(
    measured: Measure, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str
) -> None:
    monkeypatch.setenv("FAKE_WORKER_BODY", body)
    with pytest.raises(NothingMeasured):
        measured()
    assert not (tmp_path / "run").exists()


def test_time_that_is_up_ends_the_run_after_the_launches_that_an_interval_takes(measured: Measure) -> None:
    run = measured(request=replace(REQUEST, launches=None, budget_seconds=0.01))
    assert launches_of(run, id_of(CURRENT)) == {0, 1}


def test_what_was_interrupted_is_resumed_as_it_was_planned(measured: Measure) -> None:
    run = measured(request=replace(REQUEST, launches=2))
    samples = run.folder / SAMPLES_FILE
    whole = samples.read_bytes().splitlines(keepends=True)
    (second, *_) = (place for place, line in enumerate(run.measured[0].lines) if line.launch == 1)
    samples.write_bytes(b"".join(whole[:second]))
    again = open_run(run.folder)
    assert launches_of(again, id_of(PORT)) == {0}
    deque(measure(again, JUDGING), maxlen=0)
    assert launches_of(again, id_of(PORT)) == {0, 1}
    assert judge([run.folder], JUDGING).pipeline is not None


@pytest.mark.parametrize(
    "request_", [PipelineRequest("sinhh"), PipelineRequest("sinh", batch=(0,)), PipelineRequest("sinh", baseline="xla")]
)
def test_what_cannot_be_measured_is_refused_before_a_worker_is_started(
    request_: PipelineRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pipeline, "Worker", lambda *_, **__: pytest.fail("a worker was started"))
    with pytest.raises(BadInput):
        begin(tmp_path / "run", request_, ())

"""Certifying from end to end with a worker that measures nothing: all cases take alike, so no slowdown is found."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stored
from places import EXTRAS, FAKE_WORKER
from pyopbench.core.discover import CONTROLS, PATH_VARIABLE
from pyopbench.results import store
from pyopbench.results.certificate import Overhead, find, from_dict
from pyopbench.run import certify as module
from pyopbench.run import start, worker_process
from pyopbench.run.certify import BASES, FULL, INJECTED, QUICK, Extent, Stage, Trial, certify, controls

SMALL = Extent(
    settings=replace(start.QUICK, launches=3, rounds=4),
    trials=(Trial(("double",), (1,), (0, 5), 20.0), Trial(("double",), (1,), (3, 10), 40.0)),
    decisions=("double",),
    decision_runs=2,
    decision_seconds=20.0,
    seconds=200.0,
)
OVERHEAD = {"overheads": [[2e-5, 2.001e-5]], "timer_seconds": 4e-8, "timer_error_seconds": 1e-9}


@pytest.fixture(autouse=True)
def _fake_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [stored.case(name) for name in (*BASES, *controls((0, *INJECTED)))]
    environment = {key: value for key, value in stored.ENVIRONMENT.items() if key not in {"commit", "dirty"}}
    plan = {"cases": list(dict.fromkeys(cases)), "skips": [], "environment": environment}
    plan["catalogue"] = stored.run(cases)["catalogue"]
    (tmp_path / "plan").write_text(json.dumps(plan), encoding="utf-8")
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, str(FAKE_WORKER)))
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setenv(PATH_VARIABLE, str(EXTRAS))
    monkeypatch.setattr(module, "ask_once", lambda request: OVERHEAD)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda name, appauthor: str(tmp_path / "data"))


def run(folder: Path, tell: Callable[[Stage], None] = lambda stage: None) -> Any:
    return certify(folder, SMALL, quick=True, command=("pyopbench", "certify"), tell=tell)


def test_a_certificate_counts_every_pair_of_every_run_and_is_kept_twice(tmp_path: Path) -> None:
    told: list[str] = []
    made = run(tmp_path / "out", lambda stage: told.append(stage.what))
    assert (made.identical.pairs, made.identical.equivalent, made.identical.ratio) == (3, 3, 1.0)
    assert {pairs.percent: pairs.equivalent for pairs in made.injected} == {3: 3, 5: 3, 10: 3}
    assert made.effect == made.effect_90 == 0.0
    assert made.overheads == (Overhead(2e-5, 2.001e-5),)
    assert made.launches == (3, 3)
    assert (made.decisions, made.decision_runs, made.moved) == (1, 2, ())
    assert len(made.misses()) == 2
    kept = find(stored.ENVIRONMENT)
    assert kept is not None
    assert from_dict(kept) == made == from_dict(json.loads((tmp_path / "out" / "certificate.json").read_text()))
    assert [what for what in dict.fromkeys(told) if "planning" in what] == [
        "controls-1: planning", "controls-2: planning", "decisions-1: planning", "decisions-2: planning",
    ]  # fmt: skip


def test_runs_of_controls_are_kept_with_their_pairs_and_seeds(tmp_path: Path) -> None:
    run(tmp_path / "out")
    first, second = (store.read_run(tmp_path / "out" / f"controls-{n}")["settings"] for n in (1, 2))
    assert first["pairs"] == controls((0, 5))
    assert second["pairs"] == controls((3, 10))
    assert (first["seed"], second["seed"]) == (0, 1)
    assert (first["budget_seconds"], second["budget_seconds"]) == (20.0, 40.0)
    decisions = store.read_run(tmp_path / "out" / "decisions-2")["settings"]
    assert "pairs" not in decisions
    assert decisions["budget_seconds"] == SMALL.decision_seconds


def test_workers_find_controls_only_while_controls_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: dict[str, str] = {}
    begin = start.begin

    def record(folder: Path, request: start.Request) -> start.PlannedRun:
        searched[folder.name] = os.environ[PATH_VARIABLE]
        return begin(folder, request)

    own = os.environ[PATH_VARIABLE]
    monkeypatch.setattr(start, "begin", record)
    run(tmp_path / "out")
    assert searched["controls-1"] == str(CONTROLS)
    assert searched["decisions-1"] == own == os.environ[PATH_VARIABLE]


def test_a_slow_machine_still_gets_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left over is never below zero, and two launches are made whatever the budget."""
    monkeypatch.setattr(sys.modules[__name__], "SMALL", replace(SMALL, seconds=0.0))
    assert run(tmp_path / "out").identical.pairs == 3
    assert store.read_run(tmp_path / "out" / "controls-1")["settings"]["budget_seconds"] == 1.0


def test_what_is_left_is_shared_as_the_budgets_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ask for 60 s, and 30 are left once planning and the repeated decisions are taken off: each has half."""
    spare = 2 * module.PLAN_SECONDS + 2 * (SMALL.decision_seconds + module.PLAN_SECONDS)
    monkeypatch.setattr(sys.modules[__name__], "SMALL", replace(SMALL, seconds=spare + 30.0))
    monkeypatch.setattr(module.time, "monotonic", lambda: 0.0)
    work = module._Work(tmp_path, SMALL, (), spare + 30.0, lambda stage: None)
    assert work.budget(0) == pytest.approx(10.0)


@pytest.mark.parametrize(("extent", "pairs", "minutes"), [(FULL, 1_000, 40), (QUICK, 100, 5)])
def test_enough_identical_pairs_are_planned(extent: Extent, pairs: int, minutes: int) -> None:
    planned = {
        percent: sum(len(t.ops) * len(t.sizes) * len(BASES) * 3 for t in extent.trials if percent in t.percents)
        for percent in (0, *INJECTED)
    }
    assert planned[0] >= pairs
    assert set(planned.values()) - {planned[0]} == {72 if extent is FULL else 18}
    assert extent.seconds <= minutes * 60

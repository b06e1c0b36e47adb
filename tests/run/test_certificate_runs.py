"""Which runs of a certificate there is time for, and what is measured on with a pair of ports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import stored
from pyopbench.core.model import BASELINE
from pyopbench.run import certificate_runs as module
from pyopbench.run import start
from pyopbench.run.certificate_extent import Extent, MainJob, Trial

SMALL = Extent(
    settings=start.QUICK,
    trials=(Trial(("double",), (1,), (0, 5), 20.0), Trial(("double",), (1,), (10,), 40.0)),
    job=MainJob(("double",), 20.0),
    times=3,
    seconds=400.0,
)


NAMES = (BASELINE, "native", "native_twin", "numpy_function", "numpy_function_twin")
CASES = {name: stored.case(name) for name in NAMES}


def controlled(folder: Path, noisy: str) -> Path:
    """Store a run of controls of three launches in which all cases take alike, but for a noisy one."""
    content = stored.run(list(CASES.values()))
    content["catalogue"]["variants"]["native"] = {**stored.VARIANT, "kind": "port"}
    settings = {**content["settings"], "baseline": BASELINE, "pairs": module.controls((0,))}
    lines = []
    for launch in range(3):
        line = stored.group_line(launch, list(CASES.values()))
        line["samples"][CASES[noisy]] = [[place, 0, 3, 0.5 * (1 + launch)] for place in range(2)]
        lines += [stored.launch_line(launch), line]
    return stored.write(folder, {**content, "settings": settings}, lines)


def test_a_pair_that_is_not_resolved_is_measured_on_alone(tmp_path: Path) -> None:
    """However few launches are left: the run of this one has all that it may have."""
    folder = controlled(tmp_path / "run", "numpy_function_twin")
    assert module._open_pairs(folder) == {CASES["numpy_function"], CASES["numpy_function_twin"]}


def test_the_callback_whose_time_a_port_is_measured_in_is_measured_on(tmp_path: Path) -> None:
    folder = controlled(tmp_path / "run", "native_twin")
    assert module._open_pairs(folder) == {CASES["native"], CASES["native_twin"], CASES[BASELINE]}


def work(monkeypatch: pytest.MonkeyPatch, left: float) -> module.Work:
    monkeypatch.setattr(module.time, "monotonic", lambda: 0.0)
    return module.Work(Path(), SMALL, (), left, lambda stage: None)


def test_controls_share_what_the_main_job_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """They ask for 20 s and 40 s, and 45 are left once planning and two runs of the main job are taken off."""
    first, second = SMALL.trials
    stages = [first, SMALL.job, second, SMALL.job]
    spare = len(stages) * module.PLAN_SECONDS + 2 * SMALL.job.seconds
    assert work(monkeypatch, spare + 45.0).budget(stages) == pytest.approx(15.0)
    assert work(monkeypatch, spare + 45.0).budget(stages[2:]) == pytest.approx(40.0)
    assert work(monkeypatch, module.PLAN_SECONDS + 14.0).budget([second]) is None


def test_a_machine_that_takes_long_to_plan_is_planned_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of the usual time are assumed, and one was seen to take four times as long."""
    plan, slow = module.PLAN_SECONDS, work(monkeypatch, 0.0)
    assert slow.plan_seconds == plan
    slow.planning.append(4 * plan)
    assert slow.plan_seconds == 2 * plan
    later = replace(slow, deadline=2 * plan + 16.0)
    assert later.budget([SMALL.job]) == pytest.approx(16.0)


def test_the_main_job_keeps_its_budget_or_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = module.PLAN_SECONDS
    assert work(monkeypatch, plan + 100.0).budget([SMALL.job]) == SMALL.job.seconds
    assert work(monkeypatch, plan + 16.0).budget([SMALL.job]) == pytest.approx(16.0)
    assert work(monkeypatch, plan + 14.0).budget([SMALL.job]) is None

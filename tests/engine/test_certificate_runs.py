"""Which runs of a certificate there is time for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pyopbench.engine import certificate_runs as module
from pyopbench.engine import start
from pyopbench.engine.certificate_extent import Extent, MainJob, Trial

SMALL = Extent(
    settings=start.QUICK,
    trials=(Trial(("double",), (1,), (0, 5), 20.0), Trial(("double",), (1,), (10,), 40.0)),
    job=MainJob(("double",), 20.0),
    times=3,
    seconds=400.0,
)


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

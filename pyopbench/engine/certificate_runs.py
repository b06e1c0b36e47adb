"""The runs that a certificate is made of: which there is time for, how each is asked for, and what it shows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyopbench.engine import start
from pyopbench.engine.certificate_extent import BASES, Extent, MainJob, Trial
from pyopbench.engine.schedule import Ended, measure
from pyopbench.judge import judge
from pyopbench.judge.decide import Judgement
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT, Axes
from pyopbench.model.discover import CONTROLS, PATH_VARIABLE
from pyopbench.report.wording.measuring import stage_text

MODE = "node"
"""What the main job measures."""
DIRECTIONS = ("forward", "forward_backward")

PLAN_SECONDS = 15.0
"""About how long it takes to plan a run and to judge it, mostly TensorFlow's import: not part of a run's budget."""
PLANS_ASSUMED = 2
"""Runs for which that counts beside what was seen: the first one may compile kernels, and the others do not."""
LEAST_SECONDS = 15.0
"""A run of controls with a smaller budget would measure two launches of a few rounds, whatever is left."""
LEAST_OF_JOB = 0.75
"""The part of its budget without which the main job is another one, and is left out."""


@dataclass(frozen=True)
class Stage:
    """Where certifying stands: what is being done, and for how long it may still go on."""

    what: str
    seconds_left: float


Tell = Callable[[Stage], None]


@dataclass(frozen=True)
class Measured:
    """A run that was made for a certificate: what it was to be, what ended it, and what it shows."""

    of: Trial | MainJob
    ended: Ended
    judgement: Judgement


@dataclass(frozen=True)
class Work:
    """What all runs have in common.

    Attributes:
        folder: of the certificate.
        extent: how much is measured.
        command: for the record.
        deadline: on the monotonic clock.
        tell: is told of every step.
        planning: what each run so far took beside its measuring, in seconds.
    """

    folder: Path
    extent: Extent
    command: tuple[str, ...]
    deadline: float
    tell: Tell
    planning: list[float] = field(default_factory=list)

    @property
    def plan_seconds(self) -> float:
        """About how long planning and judging a run takes here, from what the runs so far took beside their budget."""
        return (PLANS_ASSUMED * PLAN_SECONDS + sum(self.planning)) / (PLANS_ASSUMED + len(self.planning))

    @property
    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def stage(self, what: str) -> Stage:
        """Return where certifying stands while this is being done."""
        return Stage(what, max(self.left, 0.0))

    def budget(self, stages: Sequence[Trial | MainJob]) -> float | None:
        """Return the budget of the first of the runs that are still to be made; None if there is no time for it.

        The main job keeps its own, because what it is worth with that is asked. Controls share what is left.
        """
        first = stages[0]
        if isinstance(first, MainJob):
            least, most = LEAST_OF_JOB * first.seconds, self.left - self.plan_seconds
            return min(first.seconds, most) if most >= least else None
        jobs = sum(one.seconds for one in stages if isinstance(one, MainJob))
        wanted = sum(one.seconds for one in stages if isinstance(one, Trial))
        share = min((self.left - jobs - len(stages) * self.plan_seconds) / wanted, 1.0)
        seconds = first.seconds * share
        if first == self.extent.trials[0]:  # without identical pairs there is no certificate
            return max(seconds, LEAST_SECONDS)
        return seconds if seconds >= LEAST_SECONDS else None


def measure_all(work: Work) -> tuple[list[Measured], tuple[str, ...]]:
    """Return all runs that there was time for, and the names of those that there was none for."""
    stages = list(work.extent.stages())
    measured, undone = [], []
    for place, (number, stage) in enumerate(stages):
        name = f"{stage.name}-{number}"
        seconds = work.budget([one for _, one in stages[place:]])
        if seconds is None:
            undone.append(name)
        elif isinstance(stage, Trial):
            measured.append(_run_controls(work, name, number, stage, seconds))
        else:
            measured.append(_run_job(work, name, number, stage, seconds))
    return measured, tuple(undone)


def _run_controls(work: Work, name: str, number: int, trial: Trial, seconds: float) -> Measured:
    names = controls(trial.percents)
    settings = replace(work.extent.settings, seed=number, budget_seconds=seconds)
    variants = tuple(dict.fromkeys((BASELINE, *names.values(), *names)))
    axes = Axes(ops=trial.ops, sizes=trial.sizes, variants=variants, modes=(MODE,), directions=DIRECTIONS, parts=False)
    with _controls_found():
        return _run(work, name, start.Request(axes, settings, BASELINE, work.command, names), trial)


def _run_job(work: Work, name: str, number: int, job: MainJob, seconds: float) -> Measured:
    settings = replace(start.QUICK, seed=number, budget_seconds=seconds)
    return _run(work, name, start.Request(Axes(ops=job.ops, quick=True), settings, BASELINE, work.command), job)


def _run(work: Work, name: str, request: start.Request, of: Trial | MainJob) -> Measured:
    folder, began = work.folder / name, time.monotonic()
    work.tell(work.stage(f"{name}: planning"))
    start.begin(folder, request)
    how, most = judge.Judging(BASELINE, MINIMUM_EFFECT), request.settings.launches
    ended = measure(
        folder,
        request.settings,
        lambda step: work.tell(work.stage(f"{name}: {stage_text(step)}")),
        lambda launches: judge.look(folder, how, launches, most).open,
    )
    start.require_measured(folder)
    judgement = judge.judge([folder], how)
    work.planning.append(time.monotonic() - began - ended.seconds)
    return Measured(of, ended, judgement)


def controls(percents: tuple[int, ...]) -> dict[str, str]:
    """Return the controls that are slowed down by some percents (0 for twins), each with what it is made from.

    Only the current callback has slowed copies, because a slowdown is a share of the current time.
    """
    return {control_of(base, percent): base for percent in percents for base in ((BASELINE,) if percent else BASES)}


def control_of(base: str, percent: int) -> str:
    """Return the name of the control that is `base`, slowed down by `percent`; 0 for its twin."""
    return f"{base}_slowed_{percent}" if percent else f"{base}_twin"


@contextmanager
def _controls_found() -> Iterator[None]:
    """Let workers find controls, and nothing that is somebody's own: what is shipped is what is certified."""
    before: Mapping[str, Any] = {PATH_VARIABLE: os.environ[PATH_VARIABLE]} if PATH_VARIABLE in os.environ else {}
    os.environ[PATH_VARIABLE] = str(CONTROLS)
    try:
        yield
    finally:
        del os.environ[PATH_VARIABLE]
        os.environ.update(before)

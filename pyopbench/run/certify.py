"""What pyopbench is worth on this machine: runs whose answers are known, judged as any other run is.

Controls are a variant's twin, which is the same code in a `tf.function` of its own, and the variant slowed down by a
known share. They are measured with the settings that are shipped, by the same workers and under the same rule for when
to stop, and each is compared with the variant that it is made from. Verdicts of one run share their processes, which is
why there are several runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pyopbench.core.discover import CONTROLS, PATH_VARIABLE
from pyopbench.core.model import BASELINE, MINIMUM_EFFECT, Axes, Case
from pyopbench.judge import judge
from pyopbench.judge.decide import Judgement
from pyopbench.judge.decision import Verdict
from pyopbench.report.wording.measuring import stage_text
from pyopbench.results import store
from pyopbench.results.certificate import FILE, KEY, Certificate, Overhead, path_for
from pyopbench.run import start
from pyopbench.run.certificate_figures import count, moved, quantile, smallest_effects
from pyopbench.run.schedule import measure
from pyopbench.run.settings import Settings
from pyopbench.run.worker_process import ask_once

BASES = ("native", "numpy_function", "py_function_numpy")
INJECTED = (3, 5, 10)
"""Percent: on the minimum effect, where nothing can be promised, and above it."""

PLAN_SECONDS = 12.0
"""About how long it takes to plan a run and to judge it, mostly TensorFlow's import: not part of a run's budget."""

OVERHEAD = {"do": "overhead", "rounds": 400, "group_seconds": 4.0}
"""Enough rounds for a median to some hundredths of a percent of the shortest body."""


@dataclass(frozen=True)
class Trial:
    """One run of controls.

    Attributes:
        ops, sizes: what is measured.
        percents: by how much each of `BASES` is slowed down; 0 is its twin.
        seconds: its budget, on a machine that is not slower than planned for.
    """

    ops: tuple[str, ...]
    sizes: tuple[int, ...]
    percents: tuple[int, ...]
    seconds: float


@dataclass(frozen=True)
class Extent:
    """How much is measured.

    Attributes:
        settings: how to measure controls; the budget is that of the trial.
        trials: runs of controls.
        decisions: ops whose decisions are repeated, with the settings of a quick run.
        decision_runs: how often.
        decision_seconds: budget of each of these.
        seconds: when all of it is to be over.
    """

    settings: Settings
    trials: tuple[Trial, ...]
    decisions: tuple[str, ...]
    decision_runs: int
    decision_seconds: float
    seconds: float


CHEAP = ("identity", "sinh", "relu", "log", "square", "cube", "double", "sin_double")
"""Ops that take little time to prepare and check."""

# Telling a slowdown takes many launches of few pairs; that identical code is not told apart takes many pairs, in enough
# launches for a first look. So each has runs of its own.
FULL = Extent(
    settings=start.FULL,
    trials=(
        *2 * (Trial(CHEAP, (1, 100, 1_000, 10_000, 100_000), (0,), 430.0),),
        Trial(CHEAP, (1, 1_000, 10_000, 100_000, 1_000_000), (0,), 430.0),
        Trial(("identity", "sinh", "log", "square"), (1_000, 100_000), INJECTED, 720.0),
    ),
    decisions=("sinh", "square", "log_huber"),
    decision_runs=3,
    decision_seconds=50.0,
    seconds=2_310.0,
)
QUICK = Extent(
    settings=start.QUICK,
    trials=(
        Trial(("identity", "sinh", "relu", "log", "square", "cube"), (1, 100_000), (0,), 75.0),
        Trial(("sinh", "log"), (1_000,), INJECTED, 75.0),
    ),
    decisions=("sinh", "square"),
    decision_runs=2,
    decision_seconds=35.0,
    seconds=285.0,
)
DECISION_VARIANTS = ("native", "numpy_function", "py_function", "py_function_numpy")


@dataclass(frozen=True)
class Stage:
    """Where certifying stands: what is being done, and for how long it may still go on."""

    what: str
    seconds_left: float


Tell = Callable[[Stage], None]


def certify(folder: Path, extent: Extent, *, quick: bool, command: tuple[str, ...], tell: Tell) -> Certificate:
    """Measure what pyopbench is worth here, keep the certificate and return it.

    Args:
        folder: for the runs that it is made from, and a copy of the certificate.
        extent: how much to measure.
        quick: for the record: that it was little.
        command: for the record.
        tell: is told of every step.

    Raises:
        BadInput: the folder holds runs already.
        WorkerLost: no worker could be started.
    """
    began = time.monotonic()
    work = _Work(folder, extent, command, began + extent.seconds, tell)
    tell(work.stage("timing bodies of known cost"))
    found = ask_once({**OVERHEAD, "block_seconds": extent.settings.block_seconds})
    judged = [_run_controls(work, number) for number in range(len(extent.trials))]
    decided = [_run_decisions(work, number) for number in range(extent.decision_runs)]
    decisions, differing = moved(decided)
    effects = [effect for judgement in judged for effect in smallest_effects(judgement)]
    environment = judged[0].run.environment
    certificate = Certificate(
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        quick=quick,
        seconds=time.monotonic() - began,
        minimum_effect=MINIMUM_EFFECT,
        environment={name: environment[name] for name in (*KEY, "pyopbench", "commit", "dirty")},
        launches=tuple(len({line["launch"] for line in judgement.run.launches}) for judgement in judged),
        identical=count(_verdicts(judged, 0), 0),
        injected=tuple(count(_verdicts(judged, percent), percent) for percent in INJECTED),
        effect=quantile(effects, 0.5),
        effect_90=quantile(effects, 0.9),
        overheads=tuple(Overhead(*pair) for pair in found["overheads"]),
        timer_seconds=found["timer_seconds"],
        timer_error_seconds=found["timer_error_seconds"],
        decision_runs=extent.decision_runs,
        decisions=decisions,
        moved=differing,
    )
    _keep(certificate, folder)
    return certificate


def _keep(certificate: Certificate, folder: Path) -> None:
    content = certificate.as_json().encode()
    for path in (folder / FILE, path_for(certificate.environment)):
        path.parent.mkdir(parents=True, exist_ok=True)
        store.write_atomically(path, content)


@dataclass(frozen=True)
class _Work:
    """What all runs have in common; `deadline` is on the monotonic clock."""

    folder: Path
    extent: Extent
    command: tuple[str, ...]
    deadline: float
    tell: Tell

    def stage(self, what: str) -> Stage:
        return Stage(what, max(self.deadline - time.monotonic(), 0.0))

    def budget(self, number: int) -> float:
        """Return the budget of a run of controls: its own, or its share of what is left if that is less."""
        trials = self.extent.trials[number:]
        repeats = self.extent.decision_runs * (self.extent.decision_seconds + PLAN_SECONDS)
        left = self.deadline - time.monotonic() - repeats - len(trials) * PLAN_SECONDS
        share = left / sum(trial.seconds for trial in trials)
        return max(trials[0].seconds * min(share, 1.0), 1.0)


def _run_controls(work: _Work, number: int) -> Judgement:
    trial = work.extent.trials[number]
    names = controls(trial.percents)
    settings = replace(work.extent.settings, seed=number, budget_seconds=work.budget(number))
    axes = Axes(ops=trial.ops, sizes=trial.sizes, variants=(*BASES, *names), modes=("call",), parts=False)
    with _controls_found():
        return _run(work, f"controls-{number + 1}", start.Request(axes, settings, BASELINE, work.command, names))


def _run_decisions(work: _Work, number: int) -> Judgement:
    settings = replace(start.QUICK, seed=number, budget_seconds=work.extent.decision_seconds)
    axes = Axes(
        ops=work.extent.decisions,
        variants=DECISION_VARIANTS,
        directions=("forward", "forward_backward"),
        quick=True,
        parts=False,
    )
    return _run(work, f"decisions-{number + 1}", start.Request(axes, settings, BASELINE, work.command))


def _run(work: _Work, name: str, request: start.Request) -> Judgement:
    folder = work.folder / name
    work.tell(work.stage(f"{name}: planning"))
    start.begin(folder, request)
    how, most = judge.Judging(BASELINE, MINIMUM_EFFECT), request.settings.launches
    measure(
        folder,
        request.settings,
        lambda step: work.tell(work.stage(f"{name}: {stage_text(step)}")),
        lambda launches: judge.look(folder, how, launches, most).open,
    )
    start.require_measured(folder)
    return judge.judge([folder], how)


def controls(percents: tuple[int, ...]) -> dict[str, str]:
    """Return the controls that are slowed down by some percents (0 for twins), each with what it is made from."""
    return {control_of(base, percent): base for base in BASES for percent in percents}


def control_of(base: str, percent: int) -> str:
    """Return the name of the control that is `base`, slowed down by `percent`; 0 for its twin."""
    return f"{base}_slowed_{percent}" if percent else f"{base}_twin"


def _verdicts(judged: list[Judgement], percent: int) -> Iterator[Verdict]:
    """Return the verdicts on the controls that are slowed down by `percent`."""
    names = controls((percent,))
    return (
        verdict for judgement in judged for verdict in judgement.verdicts if Case.from_id(verdict.case).variant in names
    )


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

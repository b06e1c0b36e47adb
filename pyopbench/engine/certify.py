"""What pyopbench is worth on this machine: runs whose answers are known, judged as any other run is.

Controls are a variant's twin, which is the same code in a graph of its own, and the current callback slowed down by a
known share of what it costs. They are measured in the mode of the main job and by the same workers, all of them for as
long, and each is compared with the variant that it is made from. Between them the main job is
run several times, whose answers are not known: each run is valued by the others, and what ports shift by from run to
run is the run effect.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from scipy import special

from pyopbench.engine import plan, stored_run
from pyopbench.engine import settings as usual
from pyopbench.engine.measure import RunEnd, measure_run
from pyopbench.engine.messages import stage_text
from pyopbench.engine.settings import Settings
from pyopbench.engine.worker_process import ask_once
from pyopbench.judge import judge
from pyopbench.judge.decision import Verdict
from pyopbench.judge.judge import Judgement
from pyopbench.judge.repetition import repetition_of, run_effect_of
from pyopbench.model import formatting
from pyopbench.model.case import BASELINE, MINIMUM_EFFECT, Axes, Case
from pyopbench.model.discover import CONTROLS, PATH_VARIABLE
from pyopbench.model.errors import NothingMeasured
from pyopbench.store import run_folder
from pyopbench.store.certificate import (
    FILE,
    KEY,
    Certificate,
    ControlRun,
    Decisions,
    GivenAnswer,
    Loss,
    Overhead,
    Pairs,
    Renamed,
    path_for,
)
from pyopbench.store.run_sides import OpenRun

LEAST_RUNS_OF_EFFECT = 3
"""Runs of the main job from which a certificate tells the run effect: two of a few ops hardly do."""

OVERHEAD = {"do": "overhead", "rounds": 400, "group_seconds": 4.0}
"""Enough rounds for a median to some hundredths of a percent of the shortest body."""


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
        NothingMeasured: no identical pair was measured, so that nothing is certified.
    """
    began = time.monotonic()
    work = Work(folder, extent, command, began + extent.seconds, tell)
    tell(work.stage("timing bodies of known cost"))
    overhead = ask_once({**OVERHEAD, "block_seconds": extent.settings.block_seconds})
    measured, undone = measure_all(work)
    certificate = _certificate_of(measured, overhead, quick=quick, command=command)
    certificate = replace(certificate, seconds=time.monotonic() - began, undone=undone)
    _require_pairs(certificate, folder)
    _keep(certificate, folder)
    return certificate


def _certificate_of(
    measured: Sequence[MeasuredRun], overhead: Mapping[str, Any], *, quick: bool, command: tuple[str, ...]
) -> Certificate:
    """Return the figures of all that was measured, without how long it took and what there was no time for."""
    controlled = [one for one in measured if isinstance(one.of, Trial)]
    judged = [one.judgement for one in controlled]
    jobs = [one.judgement for one in measured if isinstance(one.of, MainJob)]
    effects = [effect for judgement in judged for effect in smallest_effects(judgement)]
    environment = measured[0].judgement.run.environment
    return Certificate(
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        command=command,
        quick=quick,
        seconds=0.0,
        mode=MODE,
        minimum_effect=MINIMUM_EFFECT,
        environment={name: environment[name] for name in (*KEY, "pyopbench", "commit", "dirty")},
        controls=tuple(_control_run(one) for one in controlled),
        identical=count(_verdicts(judged, 0), 0),
        injected=tuple(count(_verdicts(judged, percent), percent) for percent in INJECTED),
        effect=quantile(effects, 0.5),
        effect_90=quantile(effects, 0.9),
        overheads=tuple(Overhead(*pair) for pair in overhead["overheads"]),
        timer_seconds=overhead["timer_seconds"],
        timer_error_seconds=overhead["timer_error_seconds"],
        decisions=decisions_of(jobs),
        run_effect=run_effect_of(jobs) if len(jobs) >= LEAST_RUNS_OF_EFFECT else None,
        undone=(),
    )


def _control_run(one: MeasuredRun) -> ControlRun:
    launches = len({line.launch for line in one.judgement.run.launches})
    return ControlRun(launches, one.judgement.run.settings.launches, one.ended.by)


def _require_pairs(certificate: Certificate, folder: Path) -> None:
    if not certificate.identical.pairs:
        raise NothingMeasured(
            "cannot certify: no A/A control was measured in two launches",
            received=f"{folder}: {formatting.count(len(certificate.controls), 'run')} of controls",
            legal="at least one variant and its A/A control, each with two launches",
            hint=f"pyopbench report {folder}/controls-1 shows what failed; then certify again",
        )


def _keep(certificate: Certificate, folder: Path) -> None:
    content = certificate.as_json().encode()
    for path in (folder / FILE, path_for(certificate.environment)):
        path.parent.mkdir(parents=True, exist_ok=True)
        run_folder.write_atomically(path, content)


def _verdicts(judged: Sequence[Judgement], percent: int) -> Iterator[Verdict]:
    """Return the verdicts on the controls that are slowed down by `percent`."""
    names = controls((percent,))
    return (
        verdict for judgement in judged for verdict in judgement.verdicts if Case.from_id(verdict.case).variant in names
    )


BASES = ("native", "numpy_function", BASELINE)
"""Variants that have a twin: code that runs without a bridge, and over either of two."""
INJECTED = (5, 10)
"""Percent: above the minimum effect. At 3%, on it, nothing could be promised."""


@dataclass(frozen=True)
class Trial:
    """A run of controls.

    Attributes:
        ops, sizes: what is measured.
        percents: by how much the current callback is slowed down; 0 is the twin of each of `BASES`.
        seconds: its budget, on a machine that is not slower than planned for.
    """

    ops: tuple[str, ...]
    sizes: tuple[int, ...]
    percents: tuple[int, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What its folder and its progress are called."""
        return "controls"


@dataclass(frozen=True)
class MainJob:
    """A run of the main job, as `pyopbench run --quick` measures it.

    Attributes:
        ops: what is measured; empty for all, as the main job has them.
        seconds: its budget.
    """

    ops: tuple[str, ...]
    seconds: float

    @property
    def name(self) -> str:
        """What its folder and its progress are called."""
        return "decisions"


@dataclass(frozen=True)
class Extent:
    """How much is measured.

    Attributes:
        settings: how to measure controls; the budget is that of the trial.
        trials: runs of controls, the first of twins: without those nothing is certified.
        job: what is repeated.
        times: how often, spread in time between the trials.
        seconds: when all of it is to be over.
    """

    settings: Settings
    trials: tuple[Trial, ...]
    job: MainJob
    times: int
    seconds: float

    def stages(self) -> Iterator[tuple[int, Trial | MainJob]]:
        """Yield all runs in their order, each with its number among its like, from 1."""
        trials = len(self.trials)
        before = [round(place * trials / max(self.times - 1, 1)) for place in range(self.times)]
        for place in range(trials + 1):
            yield from ((number + 1, self.job) for number, one in enumerate(before) if one == place)
            if place < trials:
                yield place + 1, self.trials[place]


# To show a pair equal, or a slowdown by 5% to be above 3%, takes a standard error of about half a point. A second of
# blocks leaves 2 to 6 points (2 cores) and launches of the same code differ by little else. With 300 rounds at the most
# 67 of 72 pairs were shown equal and 10 of 12 slowdowns by 5% found, with 450 all of both (docs/certification.md).
# All get the same, and none is looked at before the end: what is resolved early would have been resolved cheaply, and
# every look would ask more of all others.
CONTROL_SETTINGS = replace(usual.FULL, first_rounds=450, rounds=450, until="end", group_seconds=3.5, further=False)
SIZES = (1, 1_000, 100_000)
FULL = Extent(
    settings=CONTROL_SETTINGS,
    trials=(
        Trial(("sinh", "relu"), SIZES, (0,), 1_100.0),
        Trial(("log", "square"), SIZES, (0,), 1_100.0),
        Trial(("sinh", "square", "log"), (1_000, 100_000), INJECTED, 700.0),
    ),
    job=MainJob((), 170.0),
    times=3,
    seconds=3_700.0,
)
QUICK = Extent(
    settings=replace(CONTROL_SETTINGS, first_rounds=150, rounds=150, group_seconds=1.0),
    trials=(
        Trial(("sinh", "square"), (1, 100_000), (0,), 105.0),
        Trial(("sinh",), (1_000,), INJECTED, 75.0),
    ),
    job=MainJob(("relu", "sinh", "square"), 50.0),
    times=2,
    seconds=345.0,
)


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
class MeasuredRun:
    """A run that was made for a certificate: what it was to be, what ended it, and what it shows."""

    of: Trial | MainJob
    ended: RunEnd
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


def measure_all(work: Work) -> tuple[list[MeasuredRun], tuple[str, ...]]:
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


def _run_controls(work: Work, name: str, number: int, trial: Trial, seconds: float) -> MeasuredRun:
    names = controls(trial.percents)
    settings = replace(work.extent.settings, seed=number, budget_seconds=seconds)
    variants = tuple(dict.fromkeys((BASELINE, *names.values(), *names)))
    axes = Axes(ops=trial.ops, sizes=trial.sizes, variants=variants, modes=(MODE,), directions=DIRECTIONS, parts=False)
    with controls_found():
        return _run(work, name, plan.Request(axes, settings, BASELINE, work.command, names), trial)


def _run_job(work: Work, name: str, number: int, job: MainJob, seconds: float) -> MeasuredRun:
    settings = replace(usual.QUICK, seed=number, budget_seconds=seconds)
    return _run(work, name, plan.Request(Axes(ops=job.ops, quick=True), settings, BASELINE, work.command), job)


def _run(work: Work, name: str, request: plan.Request, of: Trial | MainJob) -> MeasuredRun:
    folder, began = work.folder / name, time.monotonic()
    work.tell(work.stage(f"{name}: planning"))
    side = plan.begin(folder, request)
    run = OpenRun(folder, (side,))
    how = judge.Judging(BASELINE, MINIMUM_EFFECT)
    ended = measure_run(
        side,
        request.settings,
        lambda step: work.tell(work.stage(f"{name}: {stage_text(step)}")),
        lambda launches, most: judge.interim_analysis(run, how, launches, most).open,
    )
    stored_run.require_measured(side)
    judgement = judge.judge([run], how)
    work.planning.append(time.monotonic() - began - ended.seconds)
    return MeasuredRun(of, ended, judgement)


def controls(percents: tuple[int, ...]) -> dict[str, str]:
    """Return the controls that are slowed down by some percents (0 for twins), each with what it is made from.

    Only the current callback has slowed copies, because a slowdown is a share of the current time.
    """
    return {control_of(base, percent): base for percent in percents for base in ((BASELINE,) if percent else BASES)}


def control_of(base: str, percent: int) -> str:
    """Return the name of the control that is `base`, slowed down by `percent`; 0 for its twin."""
    return f"{base}_slowed_{percent}" if percent else f"{base}_twin"


@contextmanager
def controls_found() -> Iterator[None]:
    """Let workers find controls, and nothing that is somebody's own: what is shipped is what is certified."""
    before: Mapping[str, Any] = {PATH_VARIABLE: os.environ[PATH_VARIABLE]} if PATH_VARIABLE in os.environ else {}
    os.environ[PATH_VARIABLE] = str(CONTROLS)
    try:
        yield
    finally:
        del os.environ[PATH_VARIABLE]
        os.environ.update(before)


LEVEL = 0.95
LEAST_LAUNCHES = 2
"""A pair that was measured in fewer has no interval, and so could not be judged at all."""
LEAST_RUNS = 2
"""With fewer there is nothing to value an answer by."""


def upper_bound(hits: int, n: int) -> float:
    """Return the upper 95% bound of a share of which `hits` in `n` were seen; 1 for none of none.

    Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26 (1934) 404-413. It takes the `n` for independent; pairs of one launch share a process.
    """
    return 1.0 if hits >= n else float(special.betaincinv(hits + 1, n - hits, LEVEL))


def lower_bound(hits: int, n: int) -> float:
    """Return the lower 95% bound of a share of which `hits` in `n` were seen; see `upper_bound`."""
    return 0.0 if hits == 0 else float(special.betaincinv(hits, n - hits + 1, 1 - LEVEL))


def count(verdicts: Iterable[Verdict], percent: int) -> Pairs:
    """Return how the verdicts on pairs that truly differ by `percent` came out; each counts once."""
    judged = [verdict for verdict in verdicts if verdict.launches >= LEAST_LAUNCHES]
    outcomes = [verdict.outcome for verdict in judged]
    slower, n = outcomes.count("slower"), len(judged)
    faster = outcomes.count("faster")
    return Pairs(
        percent=percent,
        pairs=n,
        faster=faster,
        slower=slower,
        equivalent=outcomes.count("equivalent"),
        unresolved=outcomes.count("unresolved"),
        ratio=statistics.median(verdict.ratio for verdict in judged) if judged else None,
        bound=lower_bound(slower, n) if percent else upper_bound(faster + slower, n),
        equivalent_bound=lower_bound(outcomes.count("equivalent"), n),
    )


def smallest_effects(judgement: Judgement) -> list[float]:
    """Return for each pair the effect that it could just have resolved, as a share of the baseline's time.

    That is half the width of its interval at the level that is corrected for all verdicts of the run: a true effect
    that is further than this from the border of the minimum effect is more likely than not to be resolved.
    """
    known = (one for one in judgement.estimates if one.n >= LEAST_LAUNCHES)
    return [(high - low) / 2 for low, high in (one.interval(judgement.level) for one in known)]


def quantile(values: Sequence[float], share: float) -> float | None:
    """Return the value that `share` of the values do not exceed; None without any."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1] if values else None


def decisions_of(judgements: Sequence[Judgement]) -> Decisions | None:
    """Return what became of the decisions of several runs of the same; None if they were not made twice."""
    if len(judgements) < LEAST_RUNS:
        return None
    found = repetition_of(judgements)
    worst = found.worst
    return Decisions(
        runs=found.runs,
        decisions=found.decisions,
        renamed=tuple(
            Renamed(key[0], key[1], tuple(GivenAnswer(one.action, one.choice) for one in answers))
            for key, answers in found.renamed.items()
        ),
        mean_loss=found.mean_loss,
        worst=None if worst is None else Loss(worst.key[0], worst.key[1], worst.loss),
        unbounded=len(found.unbounded),
        covered=found.coverage,
    )

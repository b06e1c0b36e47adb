"""Measures runs: workers prepare, stay warm and take turns until nothing is open or no time is left; nothing is lost.

The command line and Python measure by this alone; they differ in who listens. Nothing that was measured is lost: it is
stored sweep by sweep.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pyopbench.engine import environments, plan, require, sides, stored_run
from pyopbench.engine import messages as wording
from pyopbench.engine.budget import Budget, Tell
from pyopbench.engine.interim_analyses import AnalyseTogether, InterimAnalyses, InterimTimes
from pyopbench.engine.launch import WarmLaunch
from pyopbench.engine.next_step import NextStep, rounds_of
from pyopbench.engine.remaining_work import Analyse, RemainingWork, remaining_work
from pyopbench.engine.settings import Settings
from pyopbench.engine.sweeps import SWEEP_ROUNDS, Contrasts, Sweeps, works_of
from pyopbench.engine.warming import Warming
from pyopbench.engine.worker_process import Worker
from pyopbench.judge import judge
from pyopbench.judge.comparison import diff
from pyopbench.model.case import UNLIMITED, by_placement
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import PyopbenchError, WorkerLost
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.store import run_folder
from pyopbench.store.line_types import EndedLine
from pyopbench.store.run_folder import OpenSide
from pyopbench.store.run_sides import OpenRun


class Listener:
    """Receives the progress of a run. This one ignores it; subclasses show it."""

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Show that something takes a while; call what is yielded with how far it is."""
        yield lambda text: None

    @contextmanager
    def sampling(self) -> Iterator[Tell]:
        """Call what is yielded with every group, before it is prepared or sampled."""
        yield lambda step: None

    def say(self, text: str, *, whole: bool = False) -> None:
        """Report a sentence; with `whole` it contains a path or a command and is not wrapped."""

    def warn(self, text: str) -> None:
        """Warn of what a reader has to know before the results."""

    def problem(self, error: PyopbenchError, what: str = "") -> None:
        """Report an error after which the run goes on; `what` names what failed, "" for nothing."""


def begin(
    folder: Path | None, request: plan.Request, listener: Listener, asked: sides.AskedSides = sides.JUST_HERE
) -> OpenRun:
    """Plan a run on the sides that are asked for.

    Raises:
        BadInput, NothingMeasured: as `sides.begin`.
    """
    missing = environments.missing(asked.environments)
    if missing:
        listener.say(wording.installing_text([one.text for one in missing], environments.INSTALLED_GB))
    are_environments = not asked.are_just_here and not asked.revisions
    with listener.busy(wording.PLANNING_VERSIONS if are_environments else wording.PLANNING):
        run = sides.begin(folder, request, asked)
    if asked.wants_control:
        _say_planned_together(run, listener)
    else:
        for side in run.measured:
            say_planned(side, listener)
    if run.has_several_sides:
        _warn_of_values(run, listener)
    return run


def _warn_of_values(run: OpenRun, listener: Listener) -> None:
    """Tell, before anything is timed, which sides compute other values or cannot be measured."""
    from pyopbench.judge.comparison import gate  # pandas, which takes a second

    for side in run.sides:
        if side.problem is not None:
            listener.warn(gate.problem_text(side))
        for difference in side.values.differences:
            listener.warn(gate.difference_text(side.label, difference))


def say_planned(side: OpenSide, listener: Listener) -> None:
    """Tell what was planned, and where it goes."""
    cases, skips = len(side.content.cases), len(side.content.skips)
    listener.say(wording.planned_text(cases, skips, str(side.folder)), whole=True)


def _say_planned_together(run: OpenRun, listener: Listener) -> None:
    """Tell in a line what was planned of several sides, of which the last one is the control."""
    *others, control = (side.content for side in run.measured)
    cases, skips = [len(one.cases) for one in others], max(len(one.skips) for one in others)
    listener.say(wording.planned_together_text(cases, skips, len(control.cases), str(run.folder)), whole=True)


def measure(run: OpenRun, options: judge.Judging, listener: Listener) -> RunEnd | None:
    """Measure what is left of a run and return how it ended; None if no worker could be started any more.

    What is measured is appended to the folders of its sides, and held by the run.

    Raises:
        BadInput: as `measure_run`.
        KeyboardInterrupt: it was interrupted; what was finished is stored.
    """
    try:
        with sides.checkouts_of(run) as found:
            ended = _measure_on(run, options, found, listener)
        sides.give_back_checkouts(run)  # what is interrupted before keeps them, to be continued
    except WorkerLost as lost:  # what was measured before is worth its report
        listener.problem(lost)
        listener.say(f"  resume: {stored_run.resume_command(run)}", whole=True)
        return None
    if ended.by == "budget":
        settings = stored_run.settings_of(run.measured[0])
        most = ended.most if settings.launches < UNLIMITED else None
        listener.say(wording.budget_text(settings.budget_seconds or 0.0, ended.launches, most))
    return ended


def _measure_on(run: OpenRun, options: judge.Judging, checkouts: Mapping[Path, Checkout], listener: Listener) -> RunEnd:
    with listener.busy("starting"):  # a version of TensorFlow that is gone from the cache is installed again
        tasks = [_task(run, side, options, checkouts.get(side.folder), listener) for side in run.measured]
    if options.requires:
        with listener.busy("trying what is required") as show:
            for task in tasks:
                _try_requirements(task, options.requires, show)
    with listener.sampling() as tell:
        together = partial(_analyse_together, run, options, listener) if run.has_several_sides else None
        return min(measure_runs(tasks, tell, together), key=lambda one: one.launches)


def _try_requirements(task: Task, requires: Sequence[str], show: Callable[[str], None]) -> None:
    start = partial(Worker, require.TIMEOUT_SECONDS, task.python, checkout=task.checkout, own=task.own, hides_gpu=True)
    require.try_missing(
        task.side, requires, start, lambda done, total: show(f"trying what is required: {done:,} of {total:,}")
    )


def _task(run: OpenRun, side: OpenSide, options: judge.Judging, checkout: Checkout | None, listener: Listener) -> Task:
    settings = stored_run.settings_of(side)
    look = partial(_analyse, run.alone(side.folder), options, listener)
    return Task(side, settings, look, environments.python_of(side.content.settings.environment), checkout, run.own)


def _analyse_together(
    run: OpenRun, options: judge.Judging, listener: Listener, launches: int, most: int
) -> Mapping[Path, frozenset[str]]:
    """Return what is open between sides; of environments what is open on each as well."""
    found = diff.interim_comparison(run, options.minimum_effect)
    open_ = dict(found.open)
    if not run.has_revisions:
        for label, side in zip((side.label for side in run.measured_sides), run.measured, strict=True):
            alone = run.alone(side.folder)
            open_[side.folder] |= _analyse(alone, options, listener, launches, most, f"on {label}, ")
    listener.say(wording.compared_text(launches, found.resolved, found.compared))
    return open_


def _analyse(  # noqa: PLR0913 - each is known where it is made
    run: OpenRun, options: judge.Judging, listener: Listener, launches: int, most: int, where: str = ""
) -> frozenset[str]:
    found = judge.interim_analysis(run, options, launches, most)
    listener.say(f"{where}{found.text()}")
    return found.open


@dataclass(frozen=True)
class RunEnd:
    """How many launches have samples, earlier ones included, and what ended the measuring.

    Attributes:
        launches: how many.
        most: how many there may have been.
        by: `launches` if as many as allowed were made, `budget` if it was spent, and `look` if a look at the data left
            nothing to measure.
        looks: how many were held.
        seconds: what the measuring took.
        sampling_seconds: what of it was sampling, and not preparing, looking or waiting.
    """

    launches: int
    most: int
    by: Literal["launches", "budget", "look"]
    looks: int = 0
    seconds: float = 0.0
    sampling_seconds: float = 0.0


@dataclass(frozen=True)
class Task:
    """A side of a run to measure.

    Attributes:
        side: what is planned of it, and where what is measured goes.
        settings: how to measure.
        look: says what is left open, after so many launches that have samples, of so many that there may be.
        python: the interpreter of its workers; this one if None.
        checkout: the files of the revision that it is of; None for the working tree.
        own: the own ops of the run, as in the working tree.
    """

    side: OpenSide
    settings: Settings
    look: Analyse
    python: Path | None = None
    checkout: Checkout | None = None
    own: OwnOps = NO_OWN_OPS


def measure_run(side: OpenSide, settings: Settings, tell: Tell, look: Analyse) -> RunEnd:
    """Measure what is planned and not yet measured of a run on one side, until nothing is left open.

    Args:
        side: of the run.
        settings: how to measure.
        tell: is told of every group before it is prepared or sampled.
        look: says what is left open.

    Raises:
        BadInput: another process measures into the folder, or TensorFlow, NumPy or the processor is another one.
        WorkerLost: a worker could not be started.
    """
    (ended,) = measure_runs([Task(side, settings, look)], tell)
    return ended


def measure_runs(tasks: Sequence[Task], tell: Tell, look: AnalyseTogether | None = None) -> list[RunEnd]:
    """Measure several runs by turns: in each sweep all workers of all runs sample a group before the next one's turn.

    So launches of the same number are of the same time, and can be compared in pairs across the runs.

    Args:
        tasks: the runs, each with a folder of its own.
        tell: is told of every group before it is prepared or sampled.
        look: says what is left open of all runs; None where each is looked at by its own.

    Raises:
        BadInput, WorkerLost: as `measure_run`.
    """
    with ExitStack() as stack:
        for task in tasks:
            stack.enter_context(run_folder.locked(task.side.folder))
        works = [remaining_work(task.side, task.settings, task.python, task.checkout, task.own) for task in tasks]
        limits = [task.settings.budget_seconds for task in tasks if task.settings.budget_seconds is not None]
        budget = Budget(min(limits, default=None), time.monotonic())
        looks = InterimAnalyses(works, {task.side.folder: task.look for task in tasks}, look, budget)
        return _Schedule(works, looks, budget, tell).run()


class _Schedule:
    """Has workers of one batch after another prepare and sample, and decides between them."""

    def __init__(self, works: Sequence[RemainingWork], looks: InterimAnalyses, budget: Budget, tell: Tell) -> None:
        self._works, self._looks, self._budget, self._tell = works, looks, budget, tell
        self._contrasts = Contrasts(works)
        self._next_step = NextStep(works, budget)
        rounds = (work.settings.launches * work.settings.rounds * len(work.placements) for work in works)
        self._times = InterimTimes(sum(rounds))
        self._is_spent = False

    def run(self) -> list[RunEnd]:
        """Measure until nothing is open, or no launch or no time is left."""
        began_open = {id(work) for work in self._next_step.open_works()}
        while self._next_step.open_works() and self._next_step.may_begin():
            self._measure_batch()
        return [self._end(work, is_stored=id(work) in began_open) for work in self._works]

    def _end(self, work: RemainingWork, *, is_stored: bool) -> RunEnd:
        is_open = any(map(work.cases, work.groups))
        by: Literal["launches", "budget", "look"] = "launches"
        if work.looks and not is_open:
            by = "look"
        elif is_open and (work.most_needed or self._is_spent or (not is_stored and work.ended == "budget")):
            by = "budget"
        spent = self._budget.spent, self._budget.sampling_seconds
        ended = RunEnd(work.launches, work.most_launches, by, work.looks, *spent)
        if is_stored:
            work.append(
                EndedLine(
                    launch=ended.launches,
                    by=by,
                    looks=ended.looks,
                    seconds=ended.seconds,
                    sampling_seconds=ended.sampling_seconds,
                )
            )
        return ended

    def _measure_batch(self) -> None:
        works, began = self._next_step.open_works(), self._budget.spent
        self._next_step.note_begin()
        with ExitStack() as stack:
            warming = Warming(works, self._budget, self._tell, stack)
            warm = warming.run()
            self._part_together(warm)
            if warm:
                preparing_seconds = self._budget.spent - began
                self._budget.reserve = self._next_step.reserve_seconds(works, warm)
                sweeps = Sweeps(warm, self._budget, warming.limited_by, self._tell, self._contrasts)
                sweeps.first()
                self._next_step.note_first_sweep(self._budget.spent - began)
                self._go_on(sweeps, preparing_seconds, stack)
                self._next_step.note_end(sweeps)
                self._contrasts.end_batch()
        self._budget.reserve = 0.0
        for launch in warming.launches:
            self._measure_apart(launch)

    def _part_together(self, launches: Sequence[WarmLaunch]) -> None:
        """Have what goes apart in one run do so in all: only what is sampled in the same sweeps can be compared."""
        apart = set().union(*(work.apart for work in self._works))
        for work in self._works:
            work.apart |= apart & set(work.planned)
        for launch in launches:
            launch.prepared = [group for group in launch.prepared if group not in apart]

    def _go_on(self, sweeps: Sweeps, preparing_seconds: float, stack: ExitStack) -> None:
        """Sample until nothing is open, there is no time, or other launches would tell more than these."""
        while True:
            self._replace(sweeps, stack)
            rounds = self._next_step.rounds + rounds_of(sweeps)
            if not self._next_step.can_go_on(sweeps):
                return
            is_early = self._next_step.is_too_early()
            if self._times.is_due(rounds) and not is_early:
                self._looks.hold(works_of(sweeps.launches))
                self._times.note(rounds, rounds + self._budget.affordable(rounds))
            if not sweeps.launches or self._next_step.is_another_launch_better(sweeps, preparing_seconds):
                return
            if not sweeps.next(SWEEP_ROUNDS if is_early else self._times.until(rounds, len(sweeps.launches))):
                self._is_spent = any(launch.open_groups() for launch in sweeps.launches)
                return

    def _replace(self, sweeps: Sweeps, stack: ExitStack) -> None:
        """Prepare a new launch for each that was lost, while all others sleep, where that is worth its time."""
        while sweeps.lost:
            lost = sweeps.lost.pop()
            here = by_placement(lost.work.groups).get(lost.placement, ())
            groups = [group for group in here if lost.work.needs(group)]
            beside = [one for one in sweeps.launches if one.work is lost.work and one.placement == lost.placement]
            if not groups or not self._next_step.is_worth_replacing(lost, len(beside)):
                continue
            number = 1 + max([lost.launch, *(one.launch for one in sweeps.launches)])
            fresh = WarmLaunch(lost.work, max(number, lost.work.next_launch), groups)
            stack.callback(fresh.close)
            fresh.warm_up()
            if not fresh.is_lost:
                sweeps.launches.append(fresh)

    def _measure_apart(self, launch: WarmLaunch) -> None:
        """Measure each group that does not go with others by a process of its own, which counts to the launch."""
        work = launch.work
        for group in sorted(work.apart):
            if launch.launch in work.sampled[group] or not work.needs(group):
                continue
            alone = WarmLaunch(work, launch.launch, [group], is_apart=True)
            try:
                alone.warm_up()
                if not alone.is_lost:
                    with self._budget.sampling():
                        alone.sample(group, work.settings.rounds)
            finally:
                alone.close()

"""From a plan to stored samples: launches in order, groups in random order, one worker each, nothing lost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyopbench import store
from pyopbench.errors import BadInput
from pyopbench.launch import CaseLost, Worker
from pyopbench.model import FLOOR_OPS, FLOOR_SUFFIX, Case, Failure
from pyopbench.pace import Pace, Progress
from pyopbench.spending import look_schedule

LEAST_LAUNCHES = 2
"""With fewer there is no interval, so that many are made whatever the budget."""

LATER_ROUNDS = 4
"""How many times `Settings.rounds` a case may get once the data have been looked at. A group has fewer cases from then
on, and the time of those that have gone belongs to those that are left."""

SAME_WHEN_RESUMED = ("tensorflow", "numpy", "cpu")
"""What a worker has to have in common with the run that it continues, or its launches would not be comparable."""


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        seed: makes the order of groups and rounds repeatable.
        first_look: launches of everything that is planned, before the data are looked at.
        launches: worker processes at the most, each of which gives one number for each case that it measures.
        rounds: timed blocks of each case in a launch, at the most; `LATER_ROUNDS` times that after the first look.
        block_seconds: about how long a block lasts.
        group_seconds: about how long the rounds of one group may take in a launch; slow cases get fewer rounds.
        budget_seconds: no launch is begun that would probably end later than this; None for no limit.
        case_timeout_seconds: how long one case may be silent.
    """

    seed: int
    first_look: int
    launches: int
    rounds: int
    block_seconds: float
    group_seconds: float
    budget_seconds: float | None
    case_timeout_seconds: float


@dataclass(frozen=True)
class Ended:
    """How many launches are complete, earlier ones included, and what ended the measuring.

    `by` is `launches` if as many as allowed were made, `budget` if it was spent, and `look` if a look at the data left
    nothing to measure.
    """

    launches: int
    by: Literal["launches", "budget", "look"]


Tell = Callable[[Progress], None]

Look = Callable[[int], frozenset[str]]
"""Is given how many launches are made and returns the ids of the cases to measure on."""


@dataclass
class _Work:
    """What is still to be done; shrinks as groups are finished, cases fail and looks are taken.

    `limits` has the launches that asked what the machine can do at most, each with the reason why that is not known.
    """

    folder: Path
    settings: Settings
    planned: Mapping[str, Sequence[str]]
    groups: dict[str, list[str]]
    finished: set[tuple[int, str]]
    failed: set[str]
    looks: dict[int, frozenset[str]]
    environment: Mapping[str, Any]
    limits: dict[int, str]
    python: Path | None
    retried: set[str] = field(default_factory=set)

    def count(self, groups: Iterable[str]) -> int:
        """Return how many cases of some groups there are to measure."""
        return sum(case not in self.failed for group in groups for case in self.groups[group])

    def narrow(self, launches: int, look: Look) -> None:
        """Keep only what a look after so many launches leaves open; a look that was taken before is not taken again."""
        if launches not in self.looks:
            self.looks[launches] = look(launches)
            line = {"kind": "look", "launch": launches, "open": sorted(self.looks[launches])}
            store.append(self.folder, line)
        runners = {_runner_of(case) for case in self.looks[launches]}
        kept = {group: [case for case in cases if _runner_of(case) in runners] for group, cases in self.planned.items()}
        self.groups = {group: cases for group, cases in kept.items() if cases}


def _runner_of(key: str) -> tuple[str, str, str]:
    """Return what cases of one and the same timed pass have in common: backward comes with forward+backward."""
    case = Case.from_id(key)
    return case.group, case.variant, case.gradient


@dataclass(frozen=True)
class Task:
    """A run to measure.

    Attributes:
        folder: of the run.
        settings: how to measure.
        look: says what is left open, after the launches of `spending.look_schedule`.
        python: the interpreter of its workers; this one if None.
    """

    folder: Path
    settings: Settings
    look: Look
    python: Path | None = None


def measure(folder: Path, settings: Settings, tell: Tell, look: Look) -> Ended:
    """Measure what `run.json` in `folder` plans and is not yet in its samples, until nothing is left open.

    Args:
        folder: of the run.
        settings: how to measure.
        tell: is told of every group before it is measured.
        look: says what is left open, after the launches of `spending.look_schedule`.

    Raises:
        BadInput: another process measures into the folder, or TensorFlow, NumPy or the processor is another one.
        WorkerLost: no worker could be started.
    """
    (ended,) = measure_together([Task(folder, settings, look)], tell)
    return ended


def measure_together(tasks: Sequence[Task], tell: Tell) -> list[Ended]:
    """Measure several runs by turns: one launch of each, in random order, then the next one of each.

    So launches of the same number are of about the same time, and can be compared in pairs across the runs.

    Args:
        tasks: the runs, each with a folder of its own.
        tell: is told of every group before it is measured.

    Raises:
        BadInput, WorkerLost: as `measure`.
    """
    ended: dict[int, Ended] = {}
    with ExitStack() as stack:
        for task in tasks:
            stack.enter_context(store.locked(task.folder))
        launches = [_launches(_remaining(task), tell, task.look) for task in tasks]
        rng = random.Random(tasks[0].settings.seed)
        while len(ended) < len(tasks):
            turn = [place for place in range(len(tasks)) if place not in ended]
            rng.shuffle(turn)
            for place in turn:
                how = _go_on(launches[place])
                if how is not None:
                    ended[place] = how
    return [ended[place] for place in range(len(tasks))]


def _go_on(launches: Generator[None, None, Ended]) -> Ended | None:
    """Make the next launch; return how all ended, if there was none to make."""
    try:
        next(launches)
    except StopIteration as stop:
        ended: Ended = stop.value
        return ended
    return None


def _launches(work: _Work, tell: Tell, look: Look) -> Generator[None, None, Ended]:
    """Make a launch for each `next`, and return how it ended."""
    clock = _Clock(time.monotonic(), work.settings, len(work.planned), tell)
    looks = look_schedule(work.settings.first_look, work.settings.launches)
    for launch in range(work.settings.launches):
        if launch in looks:
            work.narrow(launch, look)
            if not work.groups:
                return Ended(launch, "look")
        if launch >= LEAST_LAUNCHES and clock.is_short_of(work.count(work.groups)):
            return Ended(launch, "budget")
        _measure_launch(work, launch, clock)
        clock.pace.end_launch()
        yield
    return Ended(work.settings.launches, "launches")


@dataclass
class _Clock:
    """Turns what is done into progress with the time left, and knows when the budget is spent."""

    began: float
    settings: Settings
    planned: int
    show: Tell
    pace: Pace = field(default_factory=Pace)

    def is_short_of(self, cases: int) -> bool:
        """Would a launch of so many cases probably end after the budget?"""
        budget = self.settings.budget_seconds
        return budget is not None and time.monotonic() - self.began + (self.pace.predict(cases, 1) or 0.0) > budget

    def tell(self, work: _Work, launch: int, todo: Sequence[str]) -> None:
        """Show where the run stands before the first group of `todo`, which is what is left of a launch."""
        rest, whole, launches = work.count(todo), work.count(work.groups), self.settings.launches

        def left_until(launches: int) -> float | None:
            further = max(launches - launch - 1, 0)
            return self.pace.predict(rest + further * whole, further)

        left, budget = left_until(launches), self.settings.budget_seconds
        if left is not None and budget is not None:
            left = min(left, max(budget - (time.monotonic() - self.began), left_until(LEAST_LAUNCHES) or 0.0))
        done = len(work.groups) - len(todo)
        self.show(Progress(launch, launches, todo[0], done, len(work.groups), self.planned, left))


def _remaining(task: Task) -> _Work:
    folder, settings = task.folder, task.settings
    run = store.read_run(folder)
    store.drop_torn_line(folder)
    lines, _ = store.read_lines(folder)
    groups: dict[str, list[str]] = {}
    for case in run["cases"]:
        groups.setdefault(Case.from_id(case).group, []).append(case)
    finished = {(line["launch"], line["group"]) for line in lines if line["kind"] == "group"}
    failed = {failure["case"] for line in lines for failure in line.get("failures", ())}
    looks = {line["launch"]: frozenset(line["open"]) for line in lines if line["kind"] == "look"}
    limits = {line["launch"]: line["reason"] for line in lines if line["kind"] == "limits"}
    environment = run["environment"]
    return _Work(folder, settings, groups, groups, finished, failed, looks, environment, limits, task.python)


def _measure_launch(work: _Work, launch: int, clock: _Clock) -> None:
    order = [group for group in work.groups if (launch, group) not in work.finished]
    random.Random(f"{work.settings.seed}/{launch}").shuffle(order)
    todo = [group for group in order if any(case not in work.failed for case in work.groups[group])]
    place = 0
    while place < len(todo):
        began = time.monotonic()
        with Worker(work.settings.case_timeout_seconds, work.python) as worker:
            _require_same(work.environment, worker.environment)
            store.append(work.folder, {"kind": "launch", "launch": launch, "environment": dict(worker.environment)})
            healthy = _measure_limits(work, worker, launch)
            clock.pace.add_start(time.monotonic() - began)
            while healthy and place < len(todo):
                began = time.monotonic()
                clock.tell(work, launch, todo[place:])
                cases = work.count([todo[place]])
                healthy = _measure_group(work, worker, launch, todo[place])
                clock.pace.add_group(time.monotonic() - began, cases)
                place += healthy


def _require_same(planned: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    for key in SAME_WHEN_RESUMED:
        if planned.get(key) != found.get(key):
            raise BadInput(
                f"the run was begun with another {key}, and what would be measured now could not be compared with it",
                received=f"{found.get(key)} now, {planned.get(key)} in {store.RUN_FILE}",
                legal=f"equal {', '.join(SAME_WHEN_RESUMED)}",
                next_step="resume it where it was begun, or start a new run",
            )


def _measure_limits(work: _Work, worker: Worker, launch: int) -> bool:
    """Store what the machine can do at most, unless a launch has that; return False if it cost the worker."""
    if launch in work.limits or any(work.limits.values()):  # what has failed once is not tried again
        return True
    try:
        healthy, answer = True, worker.ask({"do": "limits"})
    except CaseLost as lost:
        healthy, answer = False, {"reason": lost.reason}
    content = {key: answer.get(key, default) for key, default in store.NO_LIMITS.items()}
    store.append(work.folder, {"kind": "limits", "launch": launch, **content})
    work.limits[launch] = content["reason"]
    return healthy


def _measure_group(work: _Work, worker: Worker, launch: int, group: str) -> bool:
    """Measure one group and store it; return False if the worker was lost and the group is to be tried again."""
    cases = [case for case in work.groups[group] if case not in work.failed]
    if not cases:
        return True
    try:
        answer = worker.ask(_request(work.settings, launch, cases))
    except CaseLost as lost:
        failures = _failures_of(lost, cases, launch, retried=group in work.retried)
        failures += _floor_of(lost, work, launch, {failure.case for failure in failures})
        work.retried.add(group)
        kind = "lost"
        content: dict[str, Any] = {"failures": [asdict(failure) for failure in failures]}
    else:
        kind = "group"
        content = {key: answer[key] for key in store.ANSWER_KEYS if key in answer}
    store.append(work.folder, {"kind": kind, "launch": launch, "group": group, **content})
    work.failed.update(failure["case"] for failure in content["failures"])
    return kind == "group"


def _request(settings: Settings, launch: int, cases: Sequence[str]) -> Mapping[str, Any]:
    return {
        "do": "measure",
        "cases": list(cases),
        "launch": launch,
        "seed": settings.seed,
        "rounds": settings.rounds * (1 if launch < settings.first_look else LATER_ROUNDS),
        "block_seconds": settings.block_seconds,
        "group_seconds": settings.group_seconds,
        # Once is enough for a check that does not depend on the launch, and it is the slow one.
        "finite_differences": launch == 0,
    }


def _failures_of(lost: CaseLost, cases: Sequence[str], launch: int, *, retried: bool) -> list[Failure]:
    """Return a failure for every case that is timed in one pass with the one that was lost.

    A worker that is lost before it has come to any case is blamed on the group only if that happens twice.
    """
    if lost.case is None:
        return [Failure(case, lost.status, lost.reason, launch) for case in cases] if retried else []
    culprit = Case.from_id(lost.case)
    runners = [(case, Case.from_id(case)) for case in cases]
    return [
        Failure(key, lost.status, lost.reason, launch)
        for key, case in runners
        if (case.variant, case.gradient) == (culprit.variant, culprit.gradient)
    ]


def _floor_of(lost: CaseLost, work: _Work, launch: int, told: Collection[str]) -> list[Failure]:
    """Return a failure for all of the floor of the variant that was lost, in whatever group.

    The floor only explains that variant, and each case of it would probably cost a worker as well.
    """
    if lost.case is None:
        return []
    variant = Case.from_id(lost.case).variant.removesuffix(FLOOR_SUFFIX)
    keys = (key for cases in work.planned.values() for key in cases if key not in work.failed and key not in told)
    reason = f"not measured, because {variant} was lost: {lost.reason}"
    return [Failure(key, lost.status, reason, launch) for key in keys if _is_floor_of(Case.from_id(key), variant)]


def _is_floor_of(case: Case, variant: str) -> bool:
    return case.variant == variant + FLOOR_SUFFIX or (case.variant == variant and case.op in FLOOR_OPS)

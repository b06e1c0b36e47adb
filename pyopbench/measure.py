"""From a plan to stored samples: launches in order, groups in random order, one worker each, nothing lost."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyopbench import store
from pyopbench.clock import LEAST_LAUNCHES, Clock, Place, Tell
from pyopbench.errors import BadInput
from pyopbench.launch import CaseLost, Worker
from pyopbench.losses import failures_elsewhere, failures_of
from pyopbench.model import Case
from pyopbench.settings import Settings
from pyopbench.spending import look_schedule
from pyopbench.warnings_of_run import is_spoilt

LATER_ROUNDS = 4
"""How many times `Settings.rounds` a case may get once the data have been looked at. A group has fewer cases from then
on, and the time of those that have gone belongs to those that are left."""

After = Literal["healthy", "spoilt", "lost"]
"""A worker after a group: to be asked on; to be given up; gone, and the group is to be tried again."""

SAME_WHEN_RESUMED = ("tensorflow", "numpy", "cpu")
"""What a worker has to have in common with the run that it continues, or its launches would not be comparable."""


@dataclass(frozen=True)
class Ended:
    """How many launches are complete, earlier ones included, and what ended the measuring.

    `by` is `launches` if as many as allowed were made, `budget` if it was spent, and `look` if a look at the data left
    nothing to measure.
    """

    launches: int
    by: Literal["launches", "budget", "look"]


Look = Callable[[int], frozenset[str]]
"""Is given how many launches are made and returns the ids of the cases to measure on."""


@dataclass
class _Work:
    """What is still to be done; shrinks as groups are finished, cases fail and looks are taken.

    `losses` counts the workers that variants of ops have cost since the run was begun or resumed.
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
    losses: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, groups: Iterable[str]) -> int:
        """Return how many cases of some groups there are to measure."""
        return sum(case not in self.failed for group in groups for case in self.groups[group])

    def place(self, launch: int, todo: Sequence[str]) -> Place:
        """Return where the run stands before the first group of `todo`, which is what is left of a launch."""
        done = len(self.groups) - len(todo)
        return Place(launch, todo[0], done, len(self.groups), self.count(todo), self.count(self.groups))

    def unfailed(self) -> list[str]:
        """Return every planned case that has not failed."""
        return [case for cases in self.planned.values() for case in cases if case not in self.failed]

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
        works = [_remaining(task) for task in tasks]
        clocks = [Clock(work.settings, len(work.planned), tell, time.monotonic()) for work in works]
        for clock in clocks:
            clock.beside = clocks
        launches = [_launches(*one) for one in zip(works, clocks, (task.look for task in tasks), strict=True)]
        rng = random.Random(tasks[0].settings.seed)
        while len(ended) < len(tasks):
            turn = [place for place in range(len(tasks)) if place not in ended]
            rng.shuffle(turn)
            for place in turn:
                how = _go_on(launches[place])
                if how is not None:
                    ended[place] = how
                    clocks[place].end()
    return [ended[place] for place in range(len(tasks))]


def _go_on(launches: Generator[None, None, Ended]) -> Ended | None:
    """Make the next launch; return how all ended, if there was none to make."""
    try:
        next(launches)
    except StopIteration as stop:
        ended: Ended = stop.value
        return ended
    return None


def _launches(work: _Work, clock: Clock, look: Look) -> Generator[None, None, Ended]:
    """Make a launch for each `next`, and return how it ended."""
    looks = look_schedule(work.settings.first_look, work.settings.launches)
    for launch in range(work.settings.launches):
        if launch in looks:
            work.narrow(launch, look)
            if not work.groups:
                return Ended(launch, "look")
        if launch >= LEAST_LAUNCHES and clock.is_short_of(work.count(work.groups)):
            return Ended(launch, "budget")
        _measure_launch(work, launch, clock)
        clock.end_launch()
        yield
    return Ended(work.settings.launches, "launches")


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


def _measure_launch(work: _Work, launch: int, clock: Clock) -> None:
    order = [group for group in work.groups if (launch, group) not in work.finished]
    random.Random(f"{work.settings.seed}/{launch}").shuffle(order)
    todo = [group for group in order if any(case not in work.failed for case in work.groups[group])]
    place = 0
    while place < len(todo):
        began = time.monotonic()
        with Worker(work.settings.case_timeout_seconds, work.python, work.settings.memory_limit_bytes) as worker:
            _require_same(work.environment, worker.environment)
            store.append(work.folder, {"kind": "launch", "launch": launch, "environment": dict(worker.environment)})
            healthy = _measure_limits(work, worker, launch)
            clock.pace.add_start(time.monotonic() - began)
            while healthy and place < len(todo):
                began = time.monotonic()
                clock.tell(work.place(launch, todo[place:]))
                cases = work.count([todo[place]])
                after = _measure_group(work, worker, launch, todo[place])
                clock.pace.add_group(time.monotonic() - began, cases)
                healthy = after == "healthy"
                place += after != "lost"


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


def _measure_group(work: _Work, worker: Worker, launch: int, group: str) -> After:
    """Measure one group and store it, or what failed."""
    cases = [case for case in work.groups[group] if case not in work.failed]
    if not cases:
        return "healthy"
    try:
        answer = worker.ask(_request(work.settings, launch, cases))
    except CaseLost as lost:
        failures = failures_of(lost, cases, launch, retried=group in work.retried)
        if failures:
            told = {failure.case for failure in failures}
            failures += failures_elsewhere(lost, work.unfailed(), launch, told, work.losses)
        else:
            work.retried.add(group)
        kind = "lost"
        content: dict[str, Any] = {"failures": [asdict(failure) for failure in failures]}
    else:
        kind = "group"
        content = {key: answer[key] for key in store.ANSWER_KEYS if key in answer}
    store.append(work.folder, {"kind": kind, "launch": launch, "group": group, **content})
    work.failed.update(failure["case"] for failure in content["failures"])
    return "lost" if kind == "lost" else "spoilt" if is_spoilt(content) else "healthy"


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

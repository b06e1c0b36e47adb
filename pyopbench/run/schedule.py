"""From a plan to stored samples: launches in order, groups in random order, one worker each, nothing lost."""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pyopbench.core.errors import BadInput
from pyopbench.results import store
from pyopbench.results.warnings import is_spoilt
from pyopbench.run.budget import LEAST_LAUNCHES, Budget, Tell
from pyopbench.run.lost_cases import failures_elsewhere, failures_of
from pyopbench.run.remaining_work import Look, RemainingWork, remaining_work
from pyopbench.run.settings import Settings
from pyopbench.run.worker_loop import WorkerLoop
from pyopbench.run.worker_process import CaseLost, Worker
from pyopbench.stats.looks import look_schedule

LATER_ROUNDS = 4
"""How many times `Settings.rounds` a case may get once the data have been looked at. A group has fewer cases from then
on, and the time of those that have gone belongs to those that are left."""

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


@dataclass(frozen=True)
class Task:
    """A run to measure.

    Attributes:
        folder: of the run.
        settings: how to measure.
        look: says what is left open, after the launches of `looks.look_schedule`.
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
        look: says what is left open, after the launches of `looks.look_schedule`.

    Raises:
        BadInput: another process measures into the folder, or TensorFlow, NumPy or the processor is another one.
        WorkerLost: no worker could be started.
    """
    (ended,) = measure_together([Task(folder, settings, look)], tell)
    return ended


def measure_together(tasks: Sequence[Task], tell: Tell) -> list[Ended]:
    """Measure several runs interleaved: one launch of each, in random order, then the next one of each.

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
        works = [remaining_work(task.folder, task.settings, task.python) for task in tasks]
        budgets = [Budget(work.settings, len(work.planned), tell, time.monotonic()) for work in works]
        for budget in budgets:
            budget.interleaved = budgets
        launches = [_launches(*one) for one in zip(works, budgets, (task.look for task in tasks), strict=True)]
        rng = random.Random(tasks[0].settings.seed)
        while len(ended) < len(tasks):
            turn = [place for place in range(len(tasks)) if place not in ended]
            rng.shuffle(turn)
            for place in turn:
                how = _go_on(launches[place])
                if how is not None:
                    ended[place] = how
                    budgets[place].end()
    return [ended[place] for place in range(len(tasks))]


def _go_on(launches: Generator[None, None, Ended]) -> Ended | None:
    """Make the next launch; return how all ended, if there was none to make."""
    try:
        next(launches)
    except StopIteration as stop:
        ended: Ended = stop.value
        return ended
    return None


def _launches(work: RemainingWork, budget: Budget, look: Look) -> Generator[None, None, Ended]:
    """Make a launch for each `next`, and return how it ended."""
    looks = look_schedule(work.settings.first_look, work.settings.launches)
    for launch in range(work.settings.launches):
        if launch in looks:
            work.narrow(launch, look)
            if not work.groups:
                return Ended(launch, "look")
        if launch >= LEAST_LAUNCHES and budget.is_short_of(work.count(work.groups)):
            return Ended(launch, "budget")
        _measure_launch(work, launch, budget)
        budget.end_launch()
        yield
    return Ended(work.settings.launches, "launches")


def _measure_launch(work: RemainingWork, launch: int, budget: Budget) -> None:
    order = [group for group in work.groups if (launch, group) not in work.finished]
    random.Random(f"{work.settings.seed}/{launch}").shuffle(order)
    todo = [group for group in order if any(case not in work.failed for case in work.groups[group])]
    _LaunchLoop(work, launch, budget, todo).run()


def _require_same(planned: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    for key in SAME_WHEN_RESUMED:
        if planned.get(key) != found.get(key):
            raise BadInput(
                f"the run was begun with another {key}, and what would be measured now could not be compared with it",
                received=f"{found.get(key)} now, {planned.get(key)} in {store.RUN_FILE}",
                legal=f"equal {', '.join(SAME_WHEN_RESUMED)}",
                next_step="resume it where it was begun, or start a new run",
            )


def _measure_limits(work: RemainingWork, worker: Worker, launch: int) -> bool:
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


class _LaunchLoop(WorkerLoop[str]):
    """Measures the groups of a launch and stores what came of each, with the time that it took."""

    def __init__(self, work: RemainingWork, launch: int, budget: Budget, groups: Sequence[str]) -> None:
        super().__init__(groups)
        self._work = work
        self._launch = launch
        self._budget = budget
        self._began = time.monotonic()
        self._cases: Sequence[str] = ()

    def start(self) -> Worker:
        self._began = time.monotonic()
        settings = self._work.settings
        return Worker(settings.case_timeout_seconds, self._work.python, settings.memory_limit_bytes)

    def prepare(self, worker: Worker) -> bool:
        _require_same(self._work.environment, worker.environment)
        line = {"kind": "launch", "launch": self._launch, "environment": dict(worker.environment)}
        store.append(self._work.folder, line)
        is_usable = _measure_limits(self._work, worker, self._launch)
        self._budget.durations.add_start(time.monotonic() - self._began)
        return is_usable

    def ask(self, worker: Worker, item: str) -> bool:
        self._began = time.monotonic()
        self._budget.show_progress(self._work.position(self._launch, self.left))
        self._cases = [case for case in self._work.groups[item] if case not in self._work.failed]
        if not self._cases:
            return True
        answer = worker.ask(_request(self._work.settings, self._launch, self._cases))
        content = {key: answer[key] for key in store.ANSWER_KEYS if key in answer}
        self._store("group", item, content)
        return not is_spoilt(content)

    def record_loss(self, item: str, lost: CaseLost) -> bool:
        """Store the failures of what goes with the lost case; what else is in the group is asked for again."""
        work = self._work
        failures = failures_of(lost, self._cases, self._launch, retried=item in work.retried)
        if failures:
            failed = {failure.case for failure in failures}
            failures += failures_elsewhere(lost, work.unfailed(), self._launch, failed, work.losses)
        else:
            work.retried.add(item)
        self._store("lost", item, {"failures": [asdict(failure) for failure in failures]})
        return False

    def _store(self, kind: str, group: str, content: Mapping[str, Any]) -> None:
        line = {"kind": kind, "launch": self._launch, "group": group, **content}
        store.append(self._work.folder, line)
        self._work.failed.update(failure["case"] for failure in content["failures"])
        self._budget.durations.add_group(time.monotonic() - self._began, len(self._cases))


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

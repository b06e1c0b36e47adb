"""From a plan to stored samples: launches in order, groups in random order, one worker each, nothing lost."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pyopbench import store
from pyopbench.errors import BadInput
from pyopbench.launch import CaseLost, Worker
from pyopbench.model import Case, Failure

LEAST_LAUNCHES = 2
"""With fewer there is no interval, so that many are made whatever the budget."""

SAME_WHEN_RESUMED = ("tensorflow", "numpy", "cpu")
"""What a worker has to have in common with the run that it continues, or its launches would not be comparable."""


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        seed: makes the order of groups and rounds repeatable.
        launches: worker processes, each of which gives one number for each case.
        rounds: timed blocks of each case in a launch, at the most.
        block_seconds: about how long a block lasts.
        group_seconds: about how long the rounds of one group may take in a launch; slow cases get fewer rounds.
        budget_seconds: no launch is begun that would probably end later than this; None for no limit.
        case_timeout_seconds: how long one case may be silent.
    """

    seed: int
    launches: int
    rounds: int
    block_seconds: float
    group_seconds: float
    budget_seconds: float | None
    case_timeout_seconds: float


@dataclass(frozen=True)
class Progress:
    """Where a run stands. `seconds_left` is None until there is something to estimate it from."""

    launch: int
    launches: int
    group: str
    done: int
    total: int
    seconds_left: float | None


Tell = Callable[[Progress], None]


@dataclass
class _Work:
    """What is still to be done; shrinks as groups are finished and cases fail."""

    folder: Path
    settings: Settings
    groups: dict[str, list[str]]
    finished: set[tuple[int, str]]
    failed: set[str]
    environment: Mapping[str, Any]
    retried: set[str] = field(default_factory=set)


def measure(folder: Path, settings: Settings, tell: Tell) -> int:
    """Measure what `run.json` in `folder` plans and is not yet in its samples.

    Args:
        folder: folder of the run.
        settings: how to measure.
        tell: is told of every group before it is measured.

    Returns:
        The number of launches that are complete, earlier ones included.

    Raises:
        BadInput: another process measures into the folder, or TensorFlow, NumPy or the processor is another one.
        WorkerLost: no worker could be started.
    """
    with store.locked(folder):
        return _measure_all(_remaining(folder, settings), settings, tell)


def _measure_all(work: _Work, settings: Settings, tell: Tell) -> int:
    began = time.monotonic()
    clock = _Clock(began, settings, tell)
    last = 0.0
    for launch in range(settings.launches):
        started = time.monotonic()
        over = settings.budget_seconds is not None and started - began + last > settings.budget_seconds
        if over and launch >= LEAST_LAUNCHES:
            return launch
        _measure_launch(work, launch, clock)
        # The last one predicts the next best: the first takes longer, because of its finite differences.
        last = time.monotonic() - started
    return settings.launches


@dataclass
class _Clock:
    """Turns what is done into progress with the time left."""

    began: float
    settings: Settings
    show: Tell
    first_share: float | None = None

    def tell(self, launch: int, group: str, done: int, total: int) -> None:
        elapsed = time.monotonic() - self.began
        share = (launch + done / total) / self.settings.launches
        if self.first_share is None:  # what was done before a run was resumed tells nothing about its pace
            self.first_share = share
        gone = share - self.first_share
        left = elapsed * (1 - share) / gone if gone > 0 else None
        budget = self.settings.budget_seconds
        if left is not None and budget is not None:
            least = left * (LEAST_LAUNCHES / self.settings.launches - share) / (1 - share)
            left = min(left, max(budget - elapsed, least, 0.0))
        self.show(Progress(launch, self.settings.launches, group, done, total, left))


def _remaining(folder: Path, settings: Settings) -> _Work:
    run = store.read_run(folder)
    store.drop_torn_line(folder)
    lines, _ = store.read_lines(folder)
    groups: dict[str, list[str]] = {}
    for case in run["cases"]:
        groups.setdefault(Case.from_id(case).group, []).append(case)
    finished = {(line["launch"], line["group"]) for line in lines if line["kind"] == "group"}
    failed = {failure["case"] for line in lines for failure in line.get("failures", ())}
    return _Work(folder, settings, groups, finished, failed, run["environment"])


def _measure_launch(work: _Work, launch: int, clock: _Clock) -> None:
    order = [group for group in work.groups if (launch, group) not in work.finished]
    random.Random(f"{work.settings.seed}/{launch}").shuffle(order)
    todo = [group for group in order if any(case not in work.failed for case in work.groups[group])]
    place = 0
    while place < len(todo):
        with Worker(work.settings.case_timeout_seconds) as worker:
            _require_same(work.environment, worker.environment)
            store.append(work.folder, {"kind": "launch", "launch": launch, "environment": dict(worker.environment)})
            healthy = True
            while healthy and place < len(todo):
                clock.tell(launch, todo[place], len(work.groups) - len(todo) + place, len(work.groups))
                healthy = _measure_group(work, worker, launch, todo[place])
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


def _measure_group(work: _Work, worker: Worker, launch: int, group: str) -> bool:
    """Measure one group and store it; return False if the worker was lost and the group is to be tried again."""
    cases = [case for case in work.groups[group] if case not in work.failed]
    if not cases:
        return True
    try:
        answer = worker.ask(_request(work.settings, launch, cases))
    except CaseLost as lost:
        failures = _failures_of(lost, cases, launch, retried=group in work.retried)
        work.retried.add(group)
        kind = "lost"
        content: dict[str, Any] = {"failures": [asdict(failure) for failure in failures]}
    else:
        kind = "group"
        content = {key: answer[key] for key in store.ANSWER_KEYS}
    store.append(work.folder, {"kind": kind, "launch": launch, "group": group, **content})
    work.failed.update(failure["case"] for failure in content["failures"])
    return kind == "group"


def _request(settings: Settings, launch: int, cases: Sequence[str]) -> Mapping[str, Any]:
    return {
        "do": "measure",
        "cases": list(cases),
        "launch": launch,
        "seed": settings.seed,
        "rounds": settings.rounds,
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

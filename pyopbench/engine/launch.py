"""One launch: a worker that prepares what is open, stays warm, and samples in its turn; and what its loss costs."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import structs

from pyopbench.engine import memory
from pyopbench.engine.remaining_work import RemainingWork, failures_elsewhere, failures_of
from pyopbench.engine.worker_process import CaseLost, Worker
from pyopbench.model.case import GPU, Case, by_placement, forward_group
from pyopbench.model.errors import BadInput
from pyopbench.model.host import host_name
from pyopbench.store import run_folder
from pyopbench.store.json_file import convert
from pyopbench.store.line_types import (
    GroupLine,
    LaunchLine,
    Line,
    LostLine,
    PortLine,
    PreparedLine,
)
from pyopbench.store.warnings import is_spoilt

L = TypeVar("L", bound=Line)

SAME_WHEN_RESUMED = ("tensorflow", "numpy", "cpu")
"""What a worker has to have in common with the run that it continues, or its launches would not be comparable."""


class WarmLaunch:
    """A worker and what it has prepared.

    Attributes:
        work: of the run.
        launch: its number, which it shares with the worker of another placement.
        placement: the placement of all its groups.
        worker: the process; another one after a loss.
        todo: groups that it has still to prepare.
        prepared: groups that it keeps prepared.
        rounds: that it has made, by group.
        worker_bytes: memory that it took when it had prepared everything; None where that is not known.
        seconds: that it took to get there, with the workers that were lost.
        heard: is set whenever its worker has said something; several launches may share one.
        is_lost: has its worker been lost while it sampled, or is there nothing to prepare, so that it cannot go on?
    """

    def __init__(self, work: RemainingWork, launch: int, groups: Sequence[str], *, is_apart: bool = False) -> None:
        """Plan to prepare some groups.

        Args:
            work: of the run.
            launch: its number.
            groups: the groups to prepare, at least one, all of one placement.
            is_apart: prepare what does not go with others too.
        """
        (self.placement,) = by_placement(groups)
        self.work, self.launch = work, launch
        self.worker: Worker | None = None
        self.todo: list[str] = []
        self.prepared: list[str] = []
        self.rounds: dict[str, int] = {}
        self.worker_bytes: int | None = None
        self.seconds = 0.0
        self.is_lost = False
        self._groups, self._is_apart = list(groups), is_apart
        self.heard = threading.Event()
        self._began = self._asked = 0.0

    def open_groups(self) -> list[str]:
        """Return the groups that it can sample on."""
        most = self.work.settings.rounds
        return [
            group
            for group in self.prepared
            if not self.is_lost and self.work.cases(group) and self.rounds.get(group, 0) < most
        ]

    def close(self) -> None:
        """End the worker. May be called twice."""
        if self.worker is not None:
            self.worker.close()

    # Preparing: begun here, gone on with whenever an answer may be there.

    def begin(self) -> None:
        """Start a worker that is to prepare everything."""
        if self.worker is None:
            self._began = time.monotonic()
        self.close()
        self.prepared = []
        self.todo = [group for group in self._groups if self.work.cases(group) and self._goes_here(group)]
        random.Random(f"{self.work.settings.seed}/{self.launch}").shuffle(self.todo)
        self.todo = forward_first(self.todo)
        self.is_lost = not self.todo
        if self.is_lost:
            return
        work, settings = self.work, self.work.settings
        self.worker = Worker(
            settings.case_timeout_seconds,
            work.python,
            heard=self.heard,
            checkout=work.checkout,
            own=work.own,
            hides_gpu=self.placement != GPU,
        )

    def _goes_here(self, group: str) -> bool:
        return self._is_apart or group not in self.work.apart

    def warm_up(self) -> None:
        """Prepare everything while nobody else does anything.

        Raises:
            BadInput, WorkerLost: as `go_on`.
        """
        self.begin()
        while not self.go_on(self.work.settings.case_timeout_seconds):
            pass

    def go_on(self, seconds: float) -> bool:
        """Wait for an answer for so long, and ask for what comes next; is everything prepared?

        Raises:
            BadInput: TensorFlow, NumPy or the processor is another one than when the run was begun.
            WorkerLost: the worker did not start.
        """
        if self.is_lost:
            return True
        assert self.worker is not None
        try:
            answer = self.worker.answer(seconds)
            if answer is None:
                return False
            is_usable = self._note(answer)
            self._ask_next()
        except CaseLost as lost:
            is_usable = False
            if self.todo:
                self._record_loss(self.todo[0], lost, self.work.cases(self.todo[0]))
        if not is_usable:
            self.begin()
            return False
        if self.todo:
            return False
        self.seconds = time.monotonic() - self._began
        self.is_lost = not self.prepared
        self.worker_bytes = memory.resident_bytes(self.worker.process)
        return True

    def _note(self, answer: Mapping[str, Any]) -> bool:
        """Store what the worker has answered; can it go on?"""
        assert self.worker is not None
        if "environment" in answer:
            _require_same(self.work.environment, self.worker.environment)
            environment = {**self.worker.environment, "host": host_name(), "placement": self.placement}
            self.work.append(LaunchLine(launch=self.launch, environment=environment))
            self.work.start_seconds = time.monotonic() - self._began
            return True
        group = self.todo.pop(0)
        seconds, cases = time.monotonic() - self._asked, len(self.work.cases(group))
        self.work.case_seconds[group] = seconds / max(cases, 1)
        answer = dict(answer)
        ports = [convert({**one, "launch": self.launch}, PortLine, "worker") for one in answer.pop("ports", ())]
        self.work.keep_ports(ports)
        line = line_of_answer(PreparedLine, answer, launch=self.launch, group=group, seconds=seconds)
        self.work.append(line)
        if line.checked is not None:
            self.work.checked.add(group)
        if is_spoilt(line.left_behind) and not self._is_apart:
            self.work.apart.add(group)
            return False
        self.prepared.append(group)
        return True

    def _ask_next(self) -> None:
        assert self.worker is not None
        while self.todo and not self.work.cases(self.todo[0]):
            self.todo.pop(0)
        if self.todo:
            self._asked = time.monotonic()
            settings, checks = self.work.settings, self.work.is_to_check(self.todo[0], self.launch)
            more = {
                "further": settings.further,
                **self.work.pipeline_request(),
                **self.work.ports_request(self.todo[0]),
            }
            self.worker.send(self._request("prepare", self.todo[0], finite_differences=checks, **more))

    # Sampling: waited for, because nobody else does anything meanwhile.

    def sample(self, group: str, rounds: int, sweep: int = 0) -> GroupLine | None:
        """Sample the open cases of a group in a sweep, and store it; return that, None if it cost the worker."""
        assert self.worker is not None
        cases, settings = self.work.cases(group), self.work.settings
        request = self._request(
            "sample",
            group,
            rounds=rounds,
            first_round=self.rounds.get(group, 0),
            block_seconds=self.work.block_seconds(group),
            group_seconds=settings.group_seconds,
            **{"pass": sweep},
        )
        try:
            answer = self.worker.ask(request)
        except CaseLost as lost:
            self.is_lost = True
            self.close()
            self._record_loss(group, lost, cases)
            return None
        line = line_of_answer(GroupLine, answer, launch=self.launch, group=group, **{"pass": sweep})
        self.work.append(line)
        made = max((int(rows[-1][0]) + 1 for rows in line.samples.values() if rows), default=0)
        self.rounds[group] = max(made, self.rounds.get(group, 0))
        if line.samples:
            self.work.sampled[group].add(self.launch)
        return line

    def _request(self, do: str, group: str, **more: Any) -> dict[str, Any]:
        cases = self.work.cases(group)
        return {"do": do, "cases": cases, "launch": self.launch, "seed": self.work.settings.seed, **more}

    def _record_loss(self, group: str, lost: CaseLost, cases: Sequence[str]) -> None:
        """Store the failures of what goes with the lost case, or try once more, by itself, what may lack memory."""
        work = self.work
        failures = failures_of(lost, cases, self.launch, retried=group in work.retried)
        wants_memory = lost.status == "raised" or (lost.from_outside and group in work.retried)
        if wants_memory and not self._is_apart and len(self._groups) > 1:
            failures = []
            work.apart.add(group)
        elif failures:
            failed = {failure.case for failure in failures}
            failures += failures_elsewhere(lost, work.unfailed(), self.launch, failed, work.losses)
        else:
            work.retried.add(group)
        work.append(LostLine(launch=self.launch, group=group, failures=failures))


def forward_first(groups: Sequence[str]) -> list[str]:
    """Return groups in their order, but of two of a size first the one without gradients.

    What is refused there need not be tried in the other (`remaining_work.refused_with_gradient`).
    """
    order = list(groups)
    for group in groups:
        forward = forward_group(group)
        if forward in order and order.index(forward) > order.index(group):
            first, second = order.index(group), order.index(forward)
            order[first], order[second] = forward, group
    return order


def line_of_answer(kind: type[L], answer: Mapping[str, Any], **known: Any) -> L:
    """Return the line that is made of a worker's answer, as far as the line has its keys, and of what else is known."""
    keys = [field.encode_name for field in structs.fields(kind)]
    return convert({**{key: answer[key] for key in keys if key in answer}, **known}, kind, "the worker's answer")


def runner_seconds(line: GroupLine) -> dict[str, float]:
    """Return what a round of each runner took on average, of a stored pass: backward is within forward+backward."""
    found: dict[str, float] = {}
    for key, rows in line.samples.items():
        case = Case.from_id(key)
        rounds = len({row[0] for row in rows})
        seconds = sum(row[3] for row in rows) / rounds if rounds else 0.0
        runner = runner_key(case)
        found[runner] = max(found.get(runner, 0.0), seconds)
    return found


def runner_key(case: Case) -> str:
    """Return the key of what is timed in one pass, in all groups."""
    return f"{case.group}/{case.runner}"


def _require_same(planned: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    for key in SAME_WHEN_RESUMED:
        if planned.get(key) != found.get(key):
            raise BadInput(
                f"the run was started with another {key}, so new measurements could not be compared",
                received=f"{found.get(key)} now, {planned.get(key)} in {run_folder.RUN_FILE}",
                legal=f"equal {', '.join(SAME_WHEN_RESUMED)}",
                hint="resume it where it was started, or start a new run",
            )

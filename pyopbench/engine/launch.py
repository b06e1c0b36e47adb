"""One launch: a worker that prepares what is open, stays warm, and samples in its turn."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import structs

from pyopbench.engine.remaining_work import RemainingWork, rounds_of
from pyopbench.engine.worker_process import CaseLost, Worker
from pyopbench.model.case import GPU, by_placement, forward_group
from pyopbench.model.errors import BadInput, WorkerLost
from pyopbench.model.host import host_name
from pyopbench.store.json_file import convert
from pyopbench.store.run import RUN_FILE
from pyopbench.store.types import GroupLine, LaunchLine, Line, PortLine, PreparedLine

L = TypeVar("L", bound=Line)

SAME_WHEN_RESUMED = ("tensorflow", "numpy", "cpu")
"""What a worker has to have in common with the run that it continues, or its launches would not be comparable."""


class Launch:
    """A worker process and the groups it has prepared.

    Attributes:
        work: of the side.
        number: which it shares with the workers of other sides and placements, whose rows are compared with its own.
        placement: of all its groups.
        todo: groups that it has still to prepare.
        prepared: groups that it keeps prepared.
        rounds: group -> rounds that it has made.
        seconds: what it took to start and to prepare everything; None before that.
        is_lost: the worker was lost while it sampled, or there was nothing to prepare.
    """

    def __init__(
        self,
        work: RemainingWork,
        number: int,
        groups: Sequence[str],
        heard: threading.Event,
        clock: Callable[[], float],
    ) -> None:
        """Plan to prepare some groups of one placement.

        Args:
            work: of the side.
            number: of the launch.
            groups: to prepare, at least one.
            heard: is set whenever the worker has said something; several launches share one.
            clock: returns seconds.
        """
        (self.placement,) = by_placement(groups)
        self.work, self.number = work, number
        self.todo: list[str] = []
        self.prepared: list[str] = []
        self.rounds: dict[str, int] = {}
        self.seconds: float | None = None
        self.is_lost = self._was_killed = False
        self._groups, self._heard, self._clock = list(groups), heard, clock
        self._worker: Worker | None = None
        self._began = clock()
        self._asked = 0.0

    def open_groups(self) -> list[str]:
        """Return the groups that it can sample on."""
        most = self.work.settings.rounds
        groups = [] if self.is_lost else self.prepared
        return [group for group in groups if self.rounds.get(group, 0) < most and self.work.cases(group)]

    def close(self) -> None:
        """End the worker. May be called twice."""
        if self._worker is not None:
            self._worker.close()

    # Preparing goes on whenever an answer may be there, so that several workers prepare at the same time.

    def begin(self) -> None:
        """Start a worker that is to prepare everything."""
        if self._worker is None:
            self._began = self._clock()
        self.close()
        self.prepared = []
        self.todo = [group for group in self._groups if self.work.cases(group)]
        random.Random(f"{self.work.settings.seed}/{self.number}").shuffle(self.todo)
        self.todo = forward_first(self.todo)
        self.is_lost = not self.todo
        if not self.is_lost:
            self._worker = Worker(
                self.work.settings.case_timeout_seconds,
                heard=self._heard,
                hides_gpu=self.placement != GPU,
                **self.work.worker,
            )

    def go_on(self) -> bool:
        """Process the answer of the worker, if any, and send the next request; return whether everything is prepared.

        Raises:
            BadInput: TensorFlow, NumPy or the processor differs from when the run began.
            WorkerLost: the worker did not start.
        """
        if self.is_lost:
            return True
        assert self._worker is not None
        try:
            answer = self._worker.answer(0.0)
            if answer is None:
                return False
            self._keep(answer)
            self._ask_next()
        except CaseLost as lost:
            if self.todo:
                self.work.append_loss(self.todo[0], self.number, lost)
            self.begin()
            return self.is_lost
        except WorkerLost as lost:
            if self._was_killed or not (isinstance(lost.__cause__, CaseLost) and lost.__cause__.from_outside):
                raise
            self._was_killed = True  # while it started: forgiven once
            self.begin()
            return False
        if self.todo:
            return False
        self.seconds = self._clock() - self._began
        self.is_lost = not self.prepared
        return True

    def _keep(self, answer: Mapping[str, Any]) -> None:
        """Store what the worker has answered: that it has started, or that a group is prepared."""
        assert self._worker is not None
        if "environment" in answer:
            _require_same(self.work.side.side.environment, self._worker.environment)
            environment = {**self._worker.environment, "host": host_name(), "placement": self.placement}
            self.work.append(LaunchLine(launch=self.number, environment=environment))
            return
        group = self.todo.pop(0)
        ports = [convert({**port, "launch": self.number}, PortLine, "worker") for port in answer.get("ports", ())]
        self.work.keep_ports(ports)
        seconds = self._clock() - self._asked
        self.work.append(line_of_answer(PreparedLine, answer, launch=self.number, group=group, seconds=seconds))
        self.prepared.append(group)

    def _ask_next(self) -> None:
        assert self._worker is not None
        while self.todo and not self.work.cases(self.todo[0]):
            self.todo.pop(0)
        if self.todo:
            self._asked, group = self._clock(), self.todo[0]
            checks = self.work.is_to_check(group, self.number)
            request = self.work.prepare_request(group)
            self._worker.send(self._request("prepare", group, finite_differences=checks, **request))

    # Sampling is waited for, because nobody else does anything meanwhile.

    def sample(self, group: str, rounds: int, sweep: int) -> GroupLine | None:
        """Sample the open cases of a group, and store the line; return that, None if it cost the worker."""
        assert self._worker is not None
        request = self._request(
            "sample",
            group,
            rounds=rounds,
            first_round=self.rounds.get(group, 0),
            block_seconds=self.work.block_seconds(group),
            group_seconds=self.work.settings.group_seconds,
            **{"pass": sweep},
        )
        try:
            answer = self._worker.ask(request)
        except CaseLost as lost:
            self.is_lost = True
            self.close()
            self.work.append_loss(group, self.number, lost)
            return None
        line = line_of_answer(GroupLine, answer, launch=self.number, group=group, **{"pass": sweep})
        self.work.append(line)
        self.rounds[group] = max(rounds_of(line), self.rounds.get(group, 0))
        return line

    def _request(self, do: str, group: str, **more: Any) -> dict[str, Any]:
        cases, seed = self.work.cases(group), self.work.settings.seed
        return {"do": do, "cases": cases, "launch": self.number, "seed": seed, **more}


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
    """Build a line from the matching keys of a worker's answer and from `known`."""
    keys = [field.encode_name for field in structs.fields(kind)]
    return convert({**{key: answer[key] for key in keys if key in answer}, **known}, kind, "the worker's answer")


def _require_same(planned: Mapping[str, Any], imported: Mapping[str, Any]) -> None:
    for key in SAME_WHEN_RESUMED:
        if planned.get(key) != imported.get(key):
            raise BadInput(
                f"the run was started with a different {key}, so new measurements could not be compared",
                received=f"{imported.get(key)} now, {planned.get(key)} in {RUN_FILE}",
                legal=f"equal {', '.join(SAME_WHEN_RESUMED)}",
                hint="resume it where it was started, or start a new run",
            )

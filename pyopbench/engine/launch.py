"""The work that is left on a side of a run, and a launch: a worker that prepares it, and samples in its turn.

A worker that crashes or hangs raises `worker_process.CaseLost`; `RemainingWork.append_loss` decides what that costs.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from msgspec import structs, to_builtins

from pyopbench.engine.worker_process import CaseLost, Worker
from pyopbench.model.arrangement import CURRENT
from pyopbench.model.case import CONTROL_SUFFIX, EMPTY, GPU, Case, Failure, by_placement
from pyopbench.model.errors import BadInput, WorkerLost
from pyopbench.model.machine import host_name
from pyopbench.store.json_file import convert
from pyopbench.store.run import RUN_FILE, OpenSide
from pyopbench.store.types import (
    FAILING,
    AnyLine,
    EndedLine,
    GroupLine,
    LaunchLine,
    Line,
    LookLine,
    LostLine,
    PortLine,
    PreparedLine,
)

L = TypeVar("L", bound=Line)

SAME_WHEN_RESUMED = ("tensorflow", "numpy", "python", "cpu", "cores")
"""Facts that must be equal in a worker and the run that it continues, or its launches would not be comparable."""
PLANNED = ("parallel", "batch", "processes", "elements", "step_seconds", "minimum_effect")
"""Fields of the pipeline plan that are sent to workers."""
PIPELINE_ROUND_SECONDS, LONGEST_BLOCK_SECONDS = 1.5, 0.5
"""Seconds of a round of all remaining arrangements, and most seconds of a block of one."""
MOST_LOSSES = 2
"""Workers that a variant of an op may cost before it is left out: each further case would probably cost another
worker, and a body that hangs costs a full timeout each time."""


class RemainingWork:
    """The cases of a side that are open, and the state that its workers share; each line goes through `append`."""

    def __init__(self, side: OpenSide, worker: Mapping[str, Any]) -> None:
        """Read the state off the lines of a side; `worker` are arguments of `Worker` that all its workers share."""
        self.side, self.settings, self.worker = side, side.plan.settings, worker
        self.planned: dict[str, list[str]] = {}  # group -> ids of its cases
        for case in side.side.cases:
            self.planned.setdefault(Case.from_id(case).group, []).append(case)
        self.open = dict(self.planned)  # of these, what the last interim analysis left open
        self.sampled: dict[str, set[int]] = {group: set() for group in self.planned}  # group -> launches with samples
        self.failed: set[str] = set()
        self.looks = 0  # interim analyses
        self.is_in_pipeline = side.plan.pipeline is not None
        self._checked: set[str] = set()
        self._checking: dict[str, int] = {}
        self._lost_once: set[str] = set()
        self._losses: Counter[tuple[str, ...]] = Counter()
        self._rounds: Counter[int] = Counter()
        # By op, variant and dtype: texts of ports that are stored, and the ports that workers have written since.
        self._texts: dict[tuple[str, str, str], str] = {}
        self._ports: dict[tuple[str, str, str], PortLine] = {}
        for line in side.lines:
            self._note(line)
        # Requirements may have been tried since.
        self.ended = next((line for line in reversed(side.lines) if isinstance(line, EndedLine)), None)

    def cases(self, group: str) -> list[str]:
        """Return the cases of a group that are open and have not failed."""
        return [case for case in self.open.get(group, ()) if case not in self.failed]

    def needs(self, group: str) -> int:
        """Return how many more launches may sample a group."""
        return max(self.settings.launches - len(self.sampled[group]), 0) if self.cases(group) else 0

    @property
    def most_needed(self) -> int:
        """How many more launches any group may have."""
        return max(map(self.needs, self.open), default=0)

    @property
    def launches(self) -> set[int]:
        """The numbers of the launches that have samples."""
        return set().union(*self.sampled.values())

    @property
    def rounds(self) -> int:
        """How many rounds all launches together have stored, of what they have most of."""
        return self._rounds.total()

    # What a worker is asked.

    def is_to_check(self, group: str, launch: int) -> bool:
        """Whether a launch is to check a group against finite differences, which one launch does for each op.

        That takes a fifth of what preparing takes, and is done at one size for all; so it is left to whichever launch
        comes to the op first, and launches that prepare at the same time share it.
        """
        op = Case.from_id(self.planned[group][0]).op
        return group not in self._checked and self._checking.setdefault(op, launch) == launch

    def block_seconds(self, group: str) -> float:
        """Return about how long a block of a group lasts.

        In a pipeline the first blocks only show which arrangements are far from the best. Later there are fewer, and
        longer blocks make predictions more accurate.
        """
        usual, many = self.settings.block_seconds, len(self.cases(group))
        if not self.is_in_pipeline or not self.launches or not many:
            return usual
        return min(max(PIPELINE_ROUND_SECONDS / many, usual), LONGEST_BLOCK_SECONDS)

    def prepare_request(self, group: str) -> dict[str, Any]:
        """Return the fields of a prepare request other than its cases: pipelines, and the ports of its op.

        Only ports that workers of this process have written: what lies in a folder of results is never run.
        """
        op = Case.from_id(self.planned[group][0]).op
        ports = [to_builtins(line) for line in self._ports.values() if line.op == op]
        files = [{key: port[key] for key in port if key not in ("kind", "launch")} for port in ports]
        request: dict[str, Any] = {"ports": files}
        plan = self.side.plan.pipeline
        if plan is not None:
            current = self.side.side.current
            asked = {name: getattr(current, name) for name in ("op", "variant", "size", "dtype")}
            asked |= {name: getattr(plan, name) for name in PLANNED}
            request["pipeline"] = {"plan_request": {**asked, "budget_seconds": self.settings.budget_seconds}}
        return request

    # What came of it.

    def append(self, line: AnyLine) -> None:
        """Store a line; what fails with a forward pass that is unsupported is not tried.

        What several workers have prepared at once may fail in each of them: that is stored once.
        """
        if isinstance(line, FAILING):
            refused = _refused_gradients(line.failures, self.side.side.cases)
            fresh = {failure.case: failure for failure in (*refused, *line.failures) if failure.case not in self.failed}
            line = structs.replace(line, failures=list(fresh.values()))
        self._note(line)
        self.side.append(line)

    def _note(self, line: AnyLine) -> None:
        """Change the state as a line says, be it new or read."""
        if isinstance(line, FAILING):
            self.failed.update(failure.case for failure in line.failures)
            if any(Case.from_id(failure.case).arrangement == CURRENT for failure in line.failures):
                self.open = {}  # there is nothing left to compare with
        if isinstance(line, PreparedLine) and line.checked is not None:
            self._checked.add(line.group)
        elif isinstance(line, GroupLine) and line.samples:
            self.sampled[line.group].add(line.launch)
            self._rounds[line.launch] = max(rounds_of(line), self._rounds[line.launch])
        elif isinstance(line, PortLine):
            self._texts[line.op, line.variant, line.dtype] = line.text
        elif isinstance(line, LookLine):
            self.looks += 1
            self.open = _open_groups(self.planned, line.open)

    def append_loss(self, group: str, launch: int, lost: CaseLost) -> None:
        """Store that a worker was lost in a group: its case fails, and a variant that has cost two workers is dropped.

        A worker that is ended from outside, or is lost before it has come to any case, is blamed on nobody the first
        time in a group.
        """
        cases, failed = self.cases(group), list[str]()
        if (lost.case is None or lost.from_outside) and group not in self._lost_once:
            self._lost_once.add(group)
        elif lost.case is None:
            failed = cases
        else:
            culprit = Case.from_id(lost.case)
            failed = [key for key in cases if Case.from_id(key).runner == culprit.runner]
            self._losses[_blamed(culprit)] += 1
            if self._losses[_blamed(culprit)] >= MOST_LOSSES:
                failed += [key for key in self.side.side.cases if _blamed(Case.from_id(key)) == _blamed(culprit)]
        failures = [Failure(key, lost.status, lost.reason, launch) for key in dict.fromkeys(failed)]
        self.append(LostLine(launch=launch, group=group, failures=failures))

    def keep_ports(self, written: Sequence[PortLine]) -> list[Failure]:
        """Store ports that a worker has written, each once; return the failures of those that it wrote otherwise."""
        failures = []
        for line in written:
            key = line.op, line.variant, line.dtype
            if key not in self._texts:
                self.append(line)
            elif self._texts[key] != line.text:
                reason = "your function reads a value that differs from process to process, so its ports differ"
                cases = map(Case.from_id, self.side.side.cases)
                ported = [case.id for case in cases if (case.op, case.variant, case.dtype) == key]
                failures += [Failure(case, "unsupported", reason, line.launch) for case in ported]
            self._ports.setdefault(key, line)
        return failures


def rounds_of(line: GroupLine) -> int:
    """Return how many rounds a launch has made of a group after a line, of the case that has most."""
    return max((int(rows[-1][0]) + 1 for rows in line.samples.values() if rows), default=0)


def _refused_gradients(failures: Iterable[Failure], cases: Iterable[str]) -> list[Failure]:
    """Return a failure, for the same reason, of every case with a gradient whose forward pass is unsupported.

    To find out takes long where XLA refuses, because it compiles first: 10 s for sparse_conv_q with its gradient.
    """
    reasons = {failure.case: failure for failure in failures if failure.status == "unsupported"}
    tried = [case for case in map(Case.from_id, cases) if case.direction != "forward"] if reasons else []
    return [replace(reasons[case.forward_pass.id], case=case.id) for case in tried if case.forward_pass.id in reasons]


def _blamed(case: Case) -> tuple[str, ...]:
    """Return the key that a lost worker counts against: a variant of an op, or in a pipeline the arrangement."""
    return case.op, case.runner if case.arrangement else case.variant, case.placement


def _open_groups(planned: Mapping[str, Sequence[str]], open_cases: Iterable[str]) -> dict[str, list[str]]:
    """Return the open cases by group, each with its A/A control and the empty graph that is subtracted from it."""
    runners = {(case.group, case.runner) for case in map(Case.from_id, open_cases)}
    groups = {group for group, _ in runners}

    def is_open(key: str) -> bool:
        case = Case.from_id(key)
        base = replace(case, variant=case.variant.removesuffix(CONTROL_SUFFIX))
        return case.variant == EMPTY or (base.group, base.runner) in runners

    return {group: list(filter(is_open, cases)) for group, cases in planned.items() if group in groups}


class Launch:
    """A worker process and the groups of one placement that it has prepared."""

    def __init__(self, work: RemainingWork, number: int, groups: Sequence[str], clock: Callable[[], float]) -> None:
        """Plan to prepare some groups.

        Workers of other sides and placements have the same `number` as the one that their rows are compared with.
        """
        (self.placement,) = by_placement(groups)
        self.work, self.number = work, number
        self.todo: list[str] = []  # groups that are still to be prepared
        self.prepared: list[str] = []
        self.rounds: dict[str, int] = {}  # group -> rounds so far
        self.seconds: float | None = None  # from its start until everything was prepared
        self.is_lost = False  # while it sampled; or there was nothing to prepare
        self._was_killed = False
        self._groups, self._clock = list(groups), clock
        self._worker: Worker | None = None
        self._began = clock()
        self._asked = 0.0

    def open_groups(self) -> list[str]:
        """Return the groups that it can sample on."""
        most = self.work.settings.rounds
        groups = [] if self.is_lost else self.prepared
        return [group for group in groups if self.rounds.get(group, 0) < most and self.work.cases(group)]

    def fileno(self) -> int:
        """Return the descriptor that is readable when the worker has sent a line."""
        assert self._worker is not None
        return self._worker.fileno()

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
        self.todo.sort(key=lambda group: "/gradient/" in group)  # forward passes first: `_refused_gradients`
        self.is_lost = not self.todo
        if not self.is_lost:
            timeout, hides_gpu = self.work.settings.case_timeout_seconds, self.placement != GPU
            self._worker = Worker(timeout, waits=False, hides_gpu=hides_gpu, **self.work.worker)

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
        """Store the answer of the worker: that it has started, or that a group is prepared."""
        assert self._worker is not None
        if "environment" in answer:
            for key in SAME_WHEN_RESUMED:
                then, now = self.work.side.side.environment.get(key), self._worker.environment.get(key)
                if then != now:
                    raise BadInput(
                        f"`{key}` is not what it was when the run began, so new measurements could not be compared",
                        received=f"{now} now, {then} in {RUN_FILE}",
                        hint="resume it where it was started, or start a new run",
                    )
            environment = {**self._worker.environment, "host": host_name(), "placement": self.placement}
            self.work.append(LaunchLine(launch=self.number, environment=environment))
            return
        group = self.todo.pop(0)
        ports = [line_of_answer(PortLine, port, launch=self.number) for port in answer.get("ports", ())]
        differing = self.work.keep_ports(ports)
        seconds = self._clock() - self._asked
        line = line_of_answer(PreparedLine, answer, launch=self.number, group=group, seconds=seconds)
        self.work.append(structs.replace(line, failures=[*line.failures, *differing]))
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


def line_of_answer(kind: type[L], answer: Mapping[str, Any], **known: Any) -> L:
    """Build a line from `known` and a worker's answer; keys of the answer that the line does not have are ignored."""
    return convert({**answer, **known}, kind, "the worker's answer")

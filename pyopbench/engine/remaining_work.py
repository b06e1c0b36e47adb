"""What is still to be measured on one side of a run: less with each launch, failure and interim analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs, to_builtins

from pyopbench.engine.worker_process import CaseLost
from pyopbench.model.arrangement import CURRENT
from pyopbench.model.case import CONTROL_SUFFIX, EMPTY, Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.store.run import OpenSide
from pyopbench.store.types import (
    FAILING,
    AnyLine,
    EndedLine,
    GroupLine,
    LookLine,
    LostLine,
    PortLine,
    PreparedLine,
)

PLANNED = ("parallel", "batch", "processes", "elements", "step_seconds", "minimum_effect")
"""Fields of the pipeline plan that are sent to workers."""
PIPELINE_ROUND_SECONDS, LONGEST_BLOCK_SECONDS = 1.5, 0.5
"""Seconds of a round of all remaining arrangements, and most seconds of a block of one."""
MOST_LOSSES = 2
"""Workers that a variant of an op may cost before it is left out: each further case would probably cost another
worker, and a body that hangs costs a full timeout each time."""


class RemainingWork:
    """The cases of a side that are open, and the state that its workers share.

    Attributes:
        side: of the run; every line of its samples goes through `append`.
        settings: of the run.
        worker: arguments of `Worker` that all its workers have in common.
        planned: group -> ids of its cases.
        open: group -> those that no analysis has closed.
        sampled: group -> the launches that have samples of it.
        failed: ids of cases that have a failure.
        looks: how many interim analyses there were.
        ended: how measuring had ended before; None if it had not.
    """

    def __init__(self, side: OpenSide, worker: Mapping[str, Any]) -> None:
        """Read what a side lacks."""
        self.side, self.settings, self.worker = side, side.plan.settings, worker
        self.planned: dict[str, list[str]] = {}
        for case in side.side.cases:
            self.planned.setdefault(Case.from_id(case).group, []).append(case)
        self.open = dict(self.planned)
        self.sampled: dict[str, set[int]] = {group: set() for group in self.planned}
        self.failed: set[str] = set()
        self.looks = 0
        self._checked: set[str] = set()
        self._checking: dict[str, int] = {}
        self._lost_once: set[str] = set()
        self._losses: Counter[tuple[str, ...]] = Counter()
        self._ports: dict[tuple[str, str, str], PortLine] = {}
        for line in side.lines:
            self._note(line)
        last = side.lines[-1] if side.lines else None
        self.ended = last if isinstance(last, EndedLine) else None

    @property
    def is_in_pipeline(self) -> bool:
        """Whether it is of an op in an input pipeline."""
        return self.side.plan.pipeline is not None

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
    def launches(self) -> int:
        """How many launches have samples."""
        return len(set().union(*self.sampled.values()))

    @property
    def next_launch(self) -> int:
        """The number of the next launch: above all that have samples."""
        return 1 + max((launch for launches in self.sampled.values() for launch in launches), default=-1)

    @property
    def rounds(self) -> int:
        """How many rounds all launches together have stored, of what they have most of."""
        rounds: Counter[int] = Counter()
        for line in self.side.lines:
            if isinstance(line, GroupLine):
                rounds[line.launch] = max(rounds_of(line), rounds[line.launch])
        return rounds.total()

    def _unfailed(self) -> list[str]:
        return [case for cases in self.planned.values() for case in cases if case not in self.failed]

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
        request: dict[str, Any] = {}
        if ports:
            request["ports"] = [{key: port[key] for key in port if key not in ("kind", "launch")} for port in ports]
        plan = self.side.plan.pipeline
        if plan is not None:
            current = self.side.side.current
            asked = {name: getattr(current, name) for name in ("op", "variant", "size", "dtype")}
            asked |= {name: getattr(plan, name) for name in PLANNED}
            request["pipeline"] = {"plan_request": {**asked, "budget_seconds": self.settings.budget_seconds}}
        return request

    # What came of it.

    def append(self, line: AnyLine) -> None:
        """Store a line; what failed according to it is not measured any more, nor what has to fail with it.

        What several workers have prepared at the same time may fail in each of them: that is stored once.
        """
        if isinstance(line, FAILING):
            fresh = [failure for failure in line.failures if failure.case not in self.failed]
            known = {failure.case for failure in fresh}
            refused = refused_with_gradient(fresh, [case for case in self._unfailed() if case not in known])
            line = structs.replace(line, failures=[*fresh, *refused])
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
                failed += [key for key in self._unfailed() if _blamed(Case.from_id(key)) == _blamed(culprit)]
        failures = [Failure(key, lost.status, lost.reason, launch) for key in dict.fromkeys(failed)]
        self.append(LostLine(launch=launch, group=group, failures=failures))

    def keep_ports(self, written: Sequence[PortLine]) -> None:
        """Store ports that a worker has written, each once.

        Raises:
            BadInput: a port differs from the one measured before, so their measurements could not be combined.
        """
        lines = self.side.lines if written else []
        stored = {_port_key(line): line for line in lines if isinstance(line, PortLine)}
        for line in written:
            before = stored.get(_port_key(line))
            if before is None:
                self.side.append(line)
            elif before.text != line.text:
                raise BadInput(
                    "the source of a port differs from the one that was measured before",
                    received=f"{line.variant} of {line.op}",
                    hint="start a new run: your function, what it reads, or pyopbench has changed",
                )
            self._ports.setdefault(_port_key(line), line)


def rounds_of(line: GroupLine) -> int:
    """Return how many rounds a launch has made of a group after a line, of the case that has most."""
    return max((int(rows[-1][0]) + 1 for rows in line.samples.values() if rows), default=0)


def refused_with_gradient(failures: Sequence[Failure], cases: Iterable[str]) -> list[Failure]:
    """Return a failure, of the same reason, for every case with a gradient whose forward pass is unsupported.

    The forward pass is part of it: the same body at the same size. To try is dear where XLA is what refuses, because it
    compiles first (2 s for sparse_conv_q, TensorFlow 2.21).

    Args:
        failures: of cases.
        cases: ids of all cases that are still measured.
    """
    reasons = {
        Case.from_id(failure.case).forward_pass: failure
        for failure in failures
        if failure.status == "unsupported" and Case.from_id(failure.case).direction == "forward"
    }
    gradients = [Case.from_id(key) for key in cases] if reasons else []
    return [
        replace(reasons[case.forward_pass], case=case.id)
        for case in gradients
        if case.direction != "forward" and case.forward_pass in reasons
    ]


def _port_key(line: PortLine) -> tuple[str, str, str]:
    return line.op, line.variant, line.dtype


def _blamed(case: Case) -> tuple[str, ...]:
    """Return what a lost worker is counted against: a variant of an op, or in a pipeline the arrangement."""
    return case.op, case.runner if case.arrangement else case.variant, case.placement


def _open_groups(planned: Mapping[str, Sequence[str]], open_cases: Iterable[str]) -> dict[str, list[str]]:
    """Return what is open by group, with its A/A control and the empty graph that it is taken from."""
    runners = {(case.group, case.runner) for case in map(Case.from_id, open_cases)}
    groups = {group for group, _ in runners}

    def is_open(key: str) -> bool:
        case = Case.from_id(key)
        base = replace(case, variant=case.variant.removesuffix(CONTROL_SUFFIX))
        return case.variant == EMPTY or (base.group, base.runner) in runners

    return {group: list(filter(is_open, cases)) for group, cases in planned.items() if group in groups}

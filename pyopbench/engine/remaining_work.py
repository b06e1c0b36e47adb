"""What is still to be measured of a run: read from what is stored, and smaller with each launch, failure and look."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import structs, to_builtins

from pyopbench.engine.settings import Settings
from pyopbench.engine.worker_process import CaseLost
from pyopbench.model.arrangement import CURRENT
from pyopbench.model.case import (
    CONTROL_SUFFIX,
    EMPTY,
    Case,
    Failure,
    by_placement,
)
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.store.line_types import (
    FAILING,
    AnyLine,
    EndedLine,
    GroupLine,
    LaunchLine,
    LookLine,
    PortLine,
    PreparedLine,
    ResumedLine,
    WorkersLine,
)
from pyopbench.store.run_folder import OpenSide

Analyse = Callable[[int, int], frozenset[str]]
"""Is given how many launches have been sampled and how many there may be, and returns the cases to measure on."""


@dataclass
class RemainingWork:
    """What is still to be done; shrinks as groups are sampled, cases fail and looks are taken.

    Attributes:
        side: of the run, that lines are appended to.
        settings: of the run.
        planned: ids of all its cases, by group.
        groups: those that are open.
        sampled: launches that have samples of a group.
        lacking: how many whole launches each group has lost to interruptions.
        failed: ids of cases that have a failure.
        checked: groups that were checked against finite differences.
        checking: which launch checks the groups of an op against them, of those that prepare at the same time.
        environment: of `run.json`.
        looks: how many were taken.
        ended: by what the measuring has ended, where it has.
        python: the interpreter of its workers; this one if None.
        checkout: the files of the revision that it is of; None for the working tree.
        own: the own ops of the run, as in the working tree.
        retried: groups that have cost a worker without a case to blame.
        apart: groups that do not go with others in one process: they leave something running, or want much memory.
        losses: how many workers each variant of an op has cost on each placement since the run began or resumed.
        start_seconds: what the last worker took to start.
        case_seconds: what a case of a group took to prepare, the last time.
        ports: that a worker has written, by op, variant and dtype; the others are given them.
    """

    side: OpenSide
    settings: Settings
    planned: Mapping[str, Sequence[str]]
    groups: dict[str, list[str]]
    sampled: dict[str, set[int]]
    failed: set[str]
    checked: set[str]
    environment: Mapping[str, Any]
    looks: int
    ended: str | None
    python: Path | None
    checkout: Checkout | None = None
    own: OwnOps = NO_OWN_OPS
    lacking: Mapping[str, int] = field(default_factory=dict)
    retried: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)
    checking: dict[str, int] = field(default_factory=dict)
    losses: Counter[tuple[str, ...]] = field(default_factory=Counter)
    start_seconds: float = 0.0
    case_seconds: dict[str, float] = field(default_factory=dict)
    ports: dict[tuple[str, str, str], PortLine] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Of the side."""
        return self.side.folder

    @property
    def is_in_pipeline(self) -> bool:
        """Whether it is of an op in an input pipeline."""
        return self.side.content.pipeline is not None

    def cases(self, group: str) -> list[str]:
        """Return the cases of a group that are open and have not failed."""
        return [case for case in self.groups.get(group, ()) if case not in self.failed]

    def unfailed(self) -> list[str]:
        """Return every planned case that has not failed."""
        return [case for cases in self.planned.values() for case in cases if case not in self.failed]

    def needs(self, group: str) -> int:
        """Return how many more launches may sample a group; none where nothing of it is open."""
        if not self.cases(group):
            return 0
        return max(self.settings.launches - len(self.sampled[group]) + self.lacking.get(group, 0), 0)

    @property
    def most_needed(self) -> int:
        """How many more launches any group may have."""
        return max(map(self.needs, self.groups), default=0)

    @property
    def most_launches(self) -> int:
        """How many launches may have samples in the end: those that were asked for, and more for short ones."""
        asked = self.settings.launches + max(self.lacking.values(), default=0)
        return max(asked, self.launches + self.most_needed)

    @property
    def placements(self) -> list[str]:
        """The placements of the planned cases, in order."""
        return list(by_placement(self.planned))

    @property
    def launches(self) -> int:
        """How many launches have samples."""
        return len(set().union(*self.sampled.values()))

    @property
    def next_launch(self) -> int:
        """The number of the next launch: above all that have samples."""
        return 1 + max((launch for launches in self.sampled.values() for launch in launches), default=-1)

    def preparing_seconds(self) -> float:
        """Return about how long a worker takes to start and to prepare what is open, by what the last ones took."""
        open_ = (self.case_seconds.get(group, 0.0) * len(self.cases(group)) for group in self.groups)
        return self.start_seconds + sum(open_)

    def is_to_check(self, group: str, launch: int) -> bool:
        """Whether a launch is to check a group against finite differences, which one launch does for each op.

        That takes a fifth of what preparing takes, and is done at one size for all; so it is left to whichever launch
        comes to the op first, and launches that prepare at the same time share it.
        """
        if group in self.checked:
            return False
        op = Case.from_id(self.planned[group][0]).op
        return self.checking.setdefault(op, launch) == launch

    def block_seconds(self, group: str) -> float:
        """Return about how long a block of a group lasts.

        In a pipeline the first blocks only show which arrangements are far from the best. Later there are fewer, and
        longer blocks make predictions more accurate.
        """
        usual = self.settings.block_seconds
        many = len(self.cases(group))
        if not self.is_in_pipeline or not self.launches or not many:
            return usual
        return min(max(PIPELINE_ROUND_SECONDS / many, usual), LONGEST_BLOCK_SECONDS)

    def append(self, line: AnyLine) -> None:
        """Store a line; what failed according to it is not measured any more, nor what has to fail with it.

        What several workers have prepared at the same time may fail in each of them: that is stored once.
        """
        if isinstance(line, FAILING):
            fresh = [failure for failure in line.failures if failure.case not in self.failed]
            self.failed.update(failure.case for failure in fresh)
            refused = refused_with_gradient(fresh, self.unfailed())
            self.failed.update(failure.case for failure in refused)
            line = structs.replace(line, failures=[*fresh, *refused])
            if any(Case.from_id(failure.case).arrangement == CURRENT for failure in fresh):
                self.groups = {}  # there is nothing left to compare with
        self.side.append(line)

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
            self.ports.setdefault(_port_key(line), line)

    def ports_request(self, group: str) -> dict[str, Any]:
        """Return the part of a request with the ports of a group's op.

        Only what workers of this process have written: what lies in a folder of results is never run.
        """
        op = Case.from_id(self.planned[group][0]).op
        told = [to_builtins(line) for line in self.ports.values() if line.op == op]
        ports = [{key: value for key, value in one.items() if key not in ("kind", "launch")} for one in told]
        return {"ports": ports} if ports else {}

    def pipeline_request(self) -> dict[str, Any]:
        """Return what a worker prepares pipelines by; nothing in a run without."""
        plan = self.side.content.pipeline
        if plan is None:
            return {}
        current = self.side.content.current
        asked = {
            "op": current.op,
            "variant": current.variant,
            "size": current.size,
            "dtype": current.dtype,
            "budget_seconds": self.settings.budget_seconds,
            **{name: getattr(plan, name) for name in PLANNED},
        }
        return {"pipeline": {"plan_request": asked, "known": self._known_pipelines()}}

    def _known_pipelines(self) -> dict[str, float]:
        """Return what an element takes, by arrangement."""
        seconds: dict[str, list[float]] = {}
        for line in self.side.lines:
            if isinstance(line, GroupLine):
                for key, rows in line.samples.items():
                    seconds.setdefault(Case.from_id(key).arrangement, []).extend(row[3] / row[2] for row in rows)
        return {key: statistics.median(found) for key, found in seconds.items() if found}

    def narrow(self, look: Analyse) -> None:
        """Run an interim analysis, store it, and keep only what it leaves open."""
        self.narrow_to(look(self.launches, self.most_launches))

    def narrow_to(self, found: frozenset[str]) -> None:
        """Store an interim analysis, and keep only what it leaves open."""
        self.append(LookLine(launch=self.launches, open=sorted(found)))
        self.looks += 1
        self.groups = _open_groups(self.planned, found)


def _port_key(line: PortLine) -> tuple[str, str, str]:
    return line.op, line.variant, line.dtype


def _open_groups(planned: Mapping[str, Sequence[str]], open_cases: Iterable[str]) -> dict[str, list[str]]:
    """Return what is open by group, with its A/A control and the empty graph that it is taken from."""
    runners = set(map(_runner_of, open_cases))
    groups = {group for group, _ in runners}

    def is_open(key: str) -> bool:
        case = Case.from_id(key)
        return case.variant == EMPTY or _runner_of(replace(case, variant=_base(case.variant)).id) in runners

    return {group: list(filter(is_open, cases)) for group, cases in planned.items() if group in groups}


def _base(variant: str) -> str:
    """Return the variant that a twin is, whose own it shares the fate of; any other as it is."""
    return variant.removesuffix(CONTROL_SUFFIX)


def _runner_of(key: str) -> tuple[str, str]:
    """Return what cases of one and the same timed pass have in common: backward comes with forward+backward."""
    case = Case.from_id(key)
    return case.group, case.runner


def remaining_work(
    side: OpenSide,
    settings: Settings,
    python: Path | None,
    checkout: Checkout | None = None,
    own: OwnOps = NO_OWN_OPS,
) -> RemainingWork:
    """Return what is planned of a side and is not yet in its samples; an unfinished last line is dropped.

    Args:
        side: of the run; whoever calls this has its lock.
        settings: how to measure.
        python: the interpreter of its workers; this one if None.
        checkout: the files of the revision that it is of; None for the working tree.
        own: the own ops of the run, as in the working tree.
    """
    side.prepare_to_append()
    run, lines = side.content, side.lines
    if short := _lacking(lines, settings.rounds):
        side.append(ResumedLine(launch=max(line.launch for line in lines), lacking=short))
    planned: dict[str, list[str]] = {}
    for case in run.cases:
        planned.setdefault(Case.from_id(case).group, []).append(case)
    sampled: dict[str, set[int]] = {group: set() for group in planned}
    for line in lines:
        if isinstance(line, GroupLine) and line.samples:
            sampled[line.group].add(line.launch)
    looks = [line for line in lines if isinstance(line, LookLine)]
    ended = next((line for line in reversed(lines) if isinstance(line, EndedLine)), None)
    return RemainingWork(
        side=side,
        settings=settings,
        planned=planned,
        groups=_open_groups(planned, looks[-1].open) if looks else dict(planned),
        sampled=sampled,
        failed={failure.case for line in lines if isinstance(line, FAILING) for failure in line.failures},
        checked={line.group for line in lines if isinstance(line, PreparedLine) and line.checked is not None},
        environment=run.environment,
        looks=len(looks),
        ended=None if ended is None else ended.by,
        python=python,
        checkout=checkout,
        own=own,
        lacking=sum((Counter(line.lacking) for line in lines if isinstance(line, ResumedLine)), Counter()),
    )


def _lacking(lines: Sequence[AnyLine], rounds: int) -> dict[str, int]:
    """Return how many whole launches each group lost to the last interruption; nothing if there was none.

    The workers of a batch take turns, so all launches of a batch that is interrupted early are short. If another worker
    was started after the last samples of a group, its launches are whole: the batch had ended, or the group was over.
    A batch that ended early on purpose counts as short only if the next worker had not been started yet.

    Args:
        lines: of the samples of a side, in order.
        rounds: that a whole launch has.
    """
    ends = (place for place, line in enumerate(lines) if isinstance(line, EndedLine | ResumedLine))
    began = max(ends, default=-1) + 1
    batch = max((place for place in range(began, len(lines)) if isinstance(lines[place], WorkersLine)), default=None)
    if batch is None:
        return {}
    short: set[str] = set()
    made: Counter[tuple[str, int]] = Counter()
    for line in lines[batch:]:
        if isinstance(line, LaunchLine):
            short.clear()
        elif isinstance(line, GroupLine) and line.samples:
            short.add(line.group)
            made[line.group, line.launch] += len({row[0] for rows in line.samples.values() for row in rows})
    shares = dict.fromkeys(short, 0.0)
    for (group, _), count in made.items():
        if group in short:
            shares[group] += max(1 - count / rounds, 0.0)
    return {group: int(share) for group, share in shares.items() if share >= 1}


PLANNED = ("parallel", "batch", "processes", "elements", "step_seconds", "minimum_effect")
"""What of the plan of a pipeline a worker is told."""
PIPELINE_ROUND_SECONDS, LONGEST_BLOCK_SECONDS = 1.5, 0.5
"""Seconds of a round of all remaining arrangements, and most seconds of a block of one."""
MOST_LOSSES = 2
"""Workers that a variant of an op may cost before it is left alone: one may be by bad luck, or for want of memory."""


def failures_of(lost: CaseLost, cases: Sequence[str], launch: int, *, retried: bool) -> list[Failure]:
    """Return a failure for every case of a group that is timed in one pass with the one that was lost.

    A worker that is lost before it has come to any case, or is ended from outside, is blamed on nobody the first time.

    Args:
        lost: how the worker was lost.
        cases: ids of the group's cases that were being measured.
        launch: the launch in which it happened.
        retried: whether the group has lost a worker before.
    """
    if not retried and (lost.case is None or lost.from_outside):
        return []
    if lost.case is None:
        return [Failure(case, lost.status, lost.reason, launch) for case in cases]
    runner = Case.from_id(lost.case).runner
    return [Failure(key, lost.status, lost.reason, launch) for key in cases if Case.from_id(key).runner == runner]


def failures_elsewhere(
    lost: CaseLost, cases: Iterable[str], launch: int, told: Collection[str], losses: Counter[tuple[str, ...]]
) -> list[Failure]:
    """Return a failure for every case of other groups of the same placement that goes with the one that was lost.

    Once a variant has cost `MOST_LOSSES` workers on an op, all its cases of the op go: each would probably cost another
    worker, and a body that hangs the whole of a timeout.

    Args:
        lost: how the worker was lost.
        cases: ids of all cases that are still measured.
        launch: the launch in which it happened.
        told: ids of cases that have their failure.
        losses: how many workers were lost, by op, variant and placement; this loss is added.
    """
    if lost.case is None:
        return []
    culprit = Case.from_id(lost.case)
    blamed = _blamed(culprit)
    losses[blamed] += 1
    if losses[blamed] < MOST_LOSSES:
        return []
    reason = f"not measured, because {culprit.variant} of the op has cost {MOST_LOSSES} workers: {lost.reason}"
    left = [key for key in cases if key not in told and _blamed(Case.from_id(key)) == blamed]
    return [Failure(key, lost.status, reason, launch) for key in left]


def _blamed(case: Case) -> tuple[str, ...]:
    """Return what a lost worker is counted against: a variant of an op, or in a pipeline the arrangement."""
    return case.op, case.runner if case.arrangement else case.variant, case.placement


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
    if not reasons:
        return []
    left = {key: Case.from_id(key) for key in cases}
    return [
        replace(reasons[refused], case=key)
        for key, case in left.items()
        if case.direction != "forward" and (refused := case.forward_pass) in reasons
    ]

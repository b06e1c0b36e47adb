"""The sides of one run against the first of them: slower cases, different values, sides that cannot run.

This is the one place that compares the sides of a run: the gate, reports, frames and interim analyses take a pair's
verdict from here. Next to it is the control: a few groups of the first side, measured again as if they were another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pyopbench.judge.comparison.bodies import ComparedBody
from pyopbench.judge.comparison.diff import (
    ComparedCase,
    Comparison,
    NoCommonCase,
    UnmatchedCase,
    compare_sides,
    reach_text,
)
from pyopbench.judge.comparison.sides import Sides, side_of
from pyopbench.judge.judge import Judgement, Judging, judge
from pyopbench.judge.noise import MachineState, machine_state
from pyopbench.judge.verdicts import identical_text
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT, Failure
from pyopbench.model.errors import NothingMeasured
from pyopbench.stats import estimate
from pyopbench.stats.estimate import INTERIM_ERROR, usual_spread
from pyopbench.store.merge import bare_command
from pyopbench.store.read import read_source
from pyopbench.store.run import OpenRun, open_run, short_hash
from pyopbench.store.types import Revision, Side, ValueDifference

NO_VALUES = "No values were compared."
KINDS = {
    "outputs": "different values for the same inputs",
    "gradients": "different gradients for the same inputs",
    "raised": "fails on these inputs",
    "inputs": "the op has other inputs, so the times are for different work",
    "unknown": "not compared",
}

CHANGED = ("outputs", "gradients", "raised")
"""Kinds of differences that the revision is responsible for; with other or unknown inputs, nobody can say that."""

Outcome: TypeAlias = Literal["passed", "failed", "nothing"]


def name_text(version: Side) -> str:
    """Return a revision as it is asked for, with the beginning of its hash and its subject."""
    revision = version.revision
    if revision is None:
        return version.label
    short = "" if revision.commit.startswith(version.label) else f" ({_short(revision)})"
    return f"{version.label}{short}: {revision.subject}"


def _short(revision: Revision) -> str:
    return f"{short_hash(revision.commit)}{', not committed' if revision.dirty else ''}"


def _fail_on(gate: Gate) -> str:
    return f"{formatting.percent(gate.fail_on)} or more"


def difference_text(label: str, difference: ValueDifference) -> str:
    """Return how the values of a revision differ from the first's."""
    where = f"{difference.op} {difference.dtype} {difference.size:,}"
    return f"{label}, {where}: {KINDS[difference.kind]}: {difference.reason}"


def problem_text(side: Side) -> str:
    """Return why nothing of a side is planned."""
    return f"{side.label} is not measured: {side.problem}"


@dataclass(frozen=True, eq=False)
class Gate:
    """How the sides of a run compare with the first."""

    first: Side  # the revision that the others are compared with
    others: tuple[Side, ...]  # the others, in order; those too of which nothing could be planned
    # Label -> the changes from the first revision to that one; none without a case in common
    comparisons: Mapping[str, Comparison]
    unmatched: Mapping[str, NothingMeasured]  # label -> why there is no comparison
    control: Comparison | None  # the first revision against itself; None where that was not measured
    fail_on: float | None  # the slowdown that fails, as a share; None if none does
    machine: MachineState  # its state meanwhile
    command: tuple[str, ...] = ()  # the command that measures it again; empty if results are merely compared
    failures: tuple[tuple[str, Failure], ...] = ()  # each once, with the label of the last side that has it

    @property
    def slower(self) -> tuple[tuple[str, ComparedCase], ...]:
        """The cases slow enough to fail the run, each with the label of the revision, the worst first."""
        if self.fail_on is None:
            return ()
        found = [(label, case) for label, one in self.comparisons.items() for case in one.slower_by(self.fail_on)]
        return tuple(sorted(found, key=lambda item: -item[1].verdict.ratio))

    @property
    def slower_bodies(self) -> tuple[tuple[str, ComparedBody], ...]:
        """The bodies that are slower by `fail_on` over all their cases, each with its label, the worst first."""
        if self.fail_on is None:
            return ()
        found = [(label, one) for label, of in self.comparisons.items() for one in of.bodies_slower_by(self.fail_on)]
        return tuple(sorted(found, key=lambda item: -item[1].verdict.ratio))

    @property
    def differences(self) -> tuple[tuple[str, ValueDifference], ...]:
        """The differences in values, each with the label of the first revision that has it."""
        found: dict[tuple[str, str, int, str, str], tuple[str, ValueDifference]] = {}
        for one in self.others:
            for value in one.values.differences:
                found.setdefault((value.op, value.dtype, value.size, value.kind, value.reason), (one.label, value))
        return tuple(found.values())

    @property
    def changed(self) -> tuple[tuple[str, ValueDifference], ...]:
        """Those of them that are of the revision itself."""
        return tuple((label, one) for label, one in self.differences if one.kind in CHANGED)

    @property
    def compared_values(self) -> int:
        """On how many inputs revisions were compared."""
        return sum(one.values.compared for one in self.others)

    @property
    def broken(self) -> tuple[Side, ...]:
        """The revisions without a plan, or without a measured case in common with the first."""
        return tuple(one for one in self.others if one.label not in self.comparisons)

    @property
    def unmeasured(self) -> tuple[Side, ...]:
        """The broken revisions of which no case is known to have failed."""
        failing = {label for label, _ in self.failing}
        return tuple(one for one in self.broken if one.label not in failing)

    @property
    def failing(self) -> tuple[tuple[str, UnmatchedCase], ...]:
        """The cases that work in the first revision and fail in another, each with its label."""
        cases = {label: one.unmatched for label, one in self.comparisons.items()}
        cases |= {label: one.unmatched for label, one in self.unmatched.items() if isinstance(one, NoCommonCase)}
        return tuple(
            (label, case)
            for label, unmatched in cases.items()
            for case in unmatched
            if case.side == "A" and case.kind == "failed" and case.status != "unsupported"
        )

    @property
    def holes(self) -> tuple[tuple[str, Failure], ...]:
        """The failures of cases without a number in the first revision, which no comparison shows."""
        measured = {case.case for one in self.comparisons.values() for case in one.cases}
        measured |= {case.case for _, case in self.failing}
        return tuple((label, failure) for label, failure in self.failures if failure.case not in measured)

    @property
    def wrong(self) -> tuple[tuple[str, Failure], ...]:
        """Those of them that compute something wrong; not what later revisions have repaired."""
        repaired = None if self.first.revision is None else self.first.label
        return tuple(one for one in self.holes if one[1].status == "wrong" and one[0] != repaired)

    @property
    def cases(self) -> int:
        """How many cases have been compared, of all revisions."""
        return sum(len(one.cases) for one in self.comparisons.values())

    @property
    def smallest(self) -> float | None:
        """The smallest slowdown that each comparison would show, of a body or a typical case; None if none would."""
        known = [one.smallest for one in self.comparisons.values() if one.smallest is not None]
        return max(known, default=None)

    @property
    def outcome(self) -> Outcome:
        """Failed, passed, or nothing to compare."""
        if self.slower or self.slower_bodies or self.changed or self.failing or self.wrong:
            return "failed"
        if self.smallest is None:
            return "nothing"
        return "failed" if self.broken else "passed"

    @property
    def exit_code(self) -> int:
        """0 if nothing is slower, different or wrong, 1 if something is, 3 if no case has an interval."""
        return {"passed": 0, "failed": 1, "nothing": 3}[self.outcome]

    def answer_text(self) -> str:
        """Return the outcome in one line, the gravest finding first."""
        if self.outcome == "failed":
            by = f"slower by {_fail_on(self)}"
            found = (
                (len(self.changed), "input gives different values", "inputs give different values"),
                (len(self.unmeasured), "side cannot be measured", "sides cannot be measured"),
                (len(self.wrong), "case is wrong", "cases are wrong"),
                (len(self.failing), "case fails that used to work", "cases fail that used to work"),
                (len(self.slower_bodies), f"body is {by}", f"bodies are {by}"),
                (len(self.slower), f"case is {by}", f"cases are {by}"),
            )
            return f"Failed: {formatting.listing([formatting.count(*one) for one in found if one[0]])}."
        if self.outcome == "nothing":
            return "Nothing to compare: no case has an interval on both sides."
        if self.fail_on is None:
            return f"{formatting.count(self.cases, 'case')} compared; slowdowns do not fail the run (--fail-on never)."
        passed = f"Passed: none of {formatting.count(self.cases, 'case')} is clearly slower by {_fail_on(self)}"
        # A gate that could not see such a slowdown has to say so.
        if self.smallest is not None and self.smallest > self.fail_on:
            least = formatting.smallest_difference(self.smallest)
            if least == formatting.TOO_NOISY:
                return f"{passed}, but it was {least}."
            return f"{passed}, but only slowdowns from {least} on would be found."
        return f"{passed}."

    def values_text(self) -> str:
        """Return on how many inputs all revisions compute the same."""
        if self.changed:
            return "Values differ, so the times below may be for different work."
        if not self.compared_values:
            every = [(one.asked, one.revision) for one in (self.first, *self.others)]
            sides = {(environment, one and (one.commit, one.dirty)) for environment, one in every}
            return "All sides are the same, so no values were compared." if len(sides) == 1 else NO_VALUES
        return f"Values are the same as in {self.first.label} ({self.compared_values:,} compared)."

    def control_text(self) -> str:
        """Return the verdicts on identical pairs, in words."""
        if self.control is None or not self.control.cases:
            return "No A/A control was measured, so the effect of noise alone is unknown."
        pairs, counts = [case.verdict for case in self.control.cases], self.control.counts()
        found = identical_text(pairs, self.control.minimum_effect)
        warning = "Noise alone causes differences of this size here." if counts["slower"] or counts["faster"] else ""
        head = f"A/A control: {self.first.label} against itself, {formatting.count(len(pairs), 'pair')}"
        return f"{head}: {found}. {warning}".rstrip()

    def warning_text(self) -> str:
        """Return why the result cannot be trusted, and what to do; "" if it can be, as far as is known."""
        return self.machine.warning_text(self.command)

    def reach_text(self) -> str:
        """Return which slowdown would have been found."""
        if self.smallest is None:
            return "No case has an interval, so nothing can be said about times."
        fails = ""
        if self.fail_on is not None and self.smallest < self.fail_on:
            fails = f" The run fails if the measured slowdown is {_fail_on(self)}."
        return f"{reach_text(self.smallest)}{fails}"

    def broken_text(self, version: Side) -> str:
        """Return why a revision is not compared."""
        found = self.unmatched.get(version.label)
        return problem_text(version) if found is None else f"{version.label}: {found.in_a_line}"


def read_gate(
    source: Path | OpenRun,
    minimum_effect: float = MINIMUM_EFFECT,
    fail_on: float | None = None,
    error: float | None = None,
) -> Gate:
    """Compare the sides of a run with the first that could be planned.

    Args:
        source: the run, or its folder.
        minimum_effect: a relative difference that is worth acting on.
        fail_on: the slowdown that fails, as a share; None if none does.
        error: how often any verdict may be wrong; None for the usual of such sides.

    Raises:
        BadInput: a file is not as it was written.
    """
    opened = open_run(source)
    runs = read_source(opened)
    labels = [measured.side.label for measured in opened.measured]
    by_label = {label: side_of(label, run) for label, run in zip(labels, runs, strict=True)}
    usable = [side for side in opened.plan.sides if side.problem is None]
    first, control = usable[0], next((side for side in usable if side.is_control), None)
    others = tuple(side for side in opened.plan.sides if side not in (first, control))

    def sides_of(other: Side) -> Sides:
        return Sides(by_label[first.label], by_label[other.label], interleaved=True)

    pairs = {side.label: sides_of(side) for side in others if side in usable}
    # All comparisons of a run share their launches and machine.
    logs = [estimate.launches_by_case(sides.pairs) for sides in pairs.values()]
    usual = usual_spread(one for launches in logs for one in launches.values()) if pairs else None

    def compare(sides: Sides, among: int) -> Comparison | NothingMeasured:
        try:
            return compare_sides(sides, minimum_effect, among, error, usual)
        except NothingMeasured as nothing:
            return nothing

    failed: dict[tuple[str, str], tuple[str, Failure]] = {}
    for measured, run in zip(opened.measured, runs, strict=True):
        if not measured.side.is_control:
            failed |= {(one.case, one.status): (measured.side.label, one) for one in run.failures}
    compared = {label: compare(sides, len(pairs)) for label, sides in pairs.items()}
    controlled = None if control is None else compare(sides_of(control), 1)
    return Gate(
        first,
        others,
        {label: one for label, one in compared.items() if isinstance(one, Comparison)},
        {label: one for label, one in compared.items() if isinstance(one, NothingMeasured)},
        controlled if isinstance(controlled, Comparison) else None,
        fail_on,
        machine_state(runs),
        tuple(bare_command(runs[0].command)),
        tuple(failed.values()),
    )


@dataclass(frozen=True, eq=False)
class VersionComparison:
    """All environments of a run, by the labels of their sides."""

    shown: str  # the one that the report is of
    # In the order in which they were asked for; the others are compared with the first
    judgements: Mapping[str, Judgement]
    # The changes from the first to that one; none without a case in common with it
    comparisons: Mapping[str, Comparison]
    unmatched: Mapping[str, NothingMeasured]  # why there is no comparison
    unmeasured: Mapping[str, str]  # why one that was asked for has no sample; it is in none of the others

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in their order."""
        return tuple(self.judgements)


def judge_versions(
    run: OpenRun, versions: Sequence[Side], judging: Judging, gate: Gate, unmeasured: Mapping[str, str]
) -> VersionComparison:
    """Judge every side of a run that has a sample, at least one, next to how they compare by its gate."""
    labels = {version.label for version in versions}
    sides = [measured for measured in run.measured if measured.side.label in labels]
    judgements = {measured.side.label: judge([run.alone(measured)], judging) for measured in sides}
    unmatched = {label: error for label, error in gate.unmatched.items() if label in labels}
    return VersionComparison(next(iter(judgements)), judgements, gate.comparisons, unmatched, unmeasured)


def interim_comparison(run: OpenRun, minimum_effect: float) -> tuple[dict[str, frozenset[str]], str]:
    """Compare every side with the first and return what is open, in both of a pair.

    The open cases of a control, which is the first side again, are open on the first side too: its pairs need both.

    Returns:
        Label of each side -> ids of the cases that are worth measuring on; and how much is resolved, in words.
    """
    gate = read_gate(run, minimum_effect, error=INTERIM_ERROR)
    open_: dict[str, set[str]] = {measured.side.label: set() for measured in run.measured}
    compared = resolved = 0
    for label, comparison in gate.comparisons.items():
        compared += len(comparison.cases)
        resolved += sum(case.verdict.outcome != "unresolved" for case in comparison.cases)
        for side in (gate.first.label, label):
            open_[side] |= _open(comparison)
    planned = {measured.side.label: set(measured.side.cases) for measured in run.measured}
    for label in gate.unmatched:
        both = planned[gate.first.label] | planned[label]
        compared += len(both)
        for side in (gate.first.label, label):
            open_[side] |= both
    for measured in run.measured:
        if measured.side.is_control:
            open_[measured.side.label] = open_[gate.first.label]
    progress = f"{resolved:,} of {compared:,} comparisons are resolved"
    return {label: frozenset(cases) for label, cases in open_.items()}, progress


def _open(comparison: Comparison) -> set[str]:
    """Return the cases that need more launches, including all cases of an unresolved body: its estimate needs them."""
    of_bodies = {case for body in comparison.bodies if body.verdict.outcome == "unresolved" for case in body.cases}
    return of_bodies | {case.case for case in comparison.cases if case.verdict.outcome == "unresolved"}

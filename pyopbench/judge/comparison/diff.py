"""What changed between the two sides of a comparison: a verdict on each case that both have, and what else differs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import pandas as pd
from scipy import special

from pyopbench.judge.comparison.bodies import ERROR_SHARE, ComparedBody, body_estimates, shared_bodies
from pyopbench.judge.comparison.sides import (
    NOT_TOLD,
    CaseKey,
    ComparedSide,
    Sides,
    pair_estimates,
    pair_logs,
    sides_along,
    usual_among,
    usual_over,
)
from pyopbench.judge.verdicts import (
    INTERLEAVED_ERROR,
    NOTHING_ELSE,
    CaseVerdict,
    Correction,
    not_above_zero,
    too_small,
    verdicts_on,
)
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import NothingMeasured
from pyopbench.stats import estimate
from pyopbench.stats.corrections import ALL_ANALYSES, ONE_ANALYSIS, Analyses, decisive_level
from pyopbench.stats.estimate import FAMILY_ERROR, Estimate, Spread
from pyopbench.stats.unpaired import NOTHING, RUN_SPREAD, unpaired
from pyopbench.stats.unresolved import NotAboveZero, Unresolved
from pyopbench.store.caveats import Caveat
from pyopbench.store.measured_run import Run
from pyopbench.store.read import read_source
from pyopbench.store.run import OpenRun, axis_of
from pyopbench.store.types import Side as RunSide

POWER = 0.9
"""The probability that a run finds the smallest slowdown that it is said to find."""
OUTCOMES = ("slower", "unresolved", "equivalent", "faster")
"""From the worst on."""
SHOWN_FACTS = (
    *("tensorflow", "numpy", "python", "pyopbench", "commit", "dirty", "cpu", "cores", "memory_bytes", "machine"),
    *("os", "governor", "intra_op_threads", "inter_op_threads", "variables", "environment"),
)
"""What of the environment can move a ratio; the load of the moment differs always."""

PAIRED = {
    "round": "Both were timed in the same rounds of the same processes, so ratios are paired by round.",
    "block": "Both were sampled right after one another in every sweep, so ratios are paired by sweep.",
}


@dataclass(frozen=True)
class ComparedCase:
    """A case that both sides have.

    Attributes:
        key: what it is matched by.
        verdict: the ratio is the second side's seconds over the first's.
        first_seconds, second_seconds: of a call, geometric means over launches; nan for what is too small for one.
        first_launches, second_launches: how many launches each has.
    """

    key: CaseKey
    verdict: CaseVerdict
    first_seconds: float
    second_seconds: float
    first_launches: int
    second_launches: int


@dataclass(frozen=True)
class EnvironmentDifference:
    """A fact of the environment that is not the same on both sides; `loud` if times cannot be compared across it."""

    name: str
    first: str
    second: str
    loud: bool


@dataclass(frozen=True)
class UnmatchedCase:
    """A case that only one side has a number for.

    Attributes:
        key: of the case.
        side: the one that has a number.
        kind: why the other one has none: it `failed` there, was planned and `not_reached`, or was `not_measured`.
        status, reason: of the failure; "" where there is none.
    """

    key: CaseKey
    side: Literal["A", "B"]
    kind: Literal["failed", "not_reached", "not_measured"]
    status: str = ""
    reason: str = ""

    def text(self) -> str:
        """Return why the other side has no number for a case, a clause."""
        other = "B" if self.side == "A" else "A"
        match self.kind:
            case "failed":
                return f"{self.status} in {other}: {self.reason}"
            case "not_reached":
                return f"planned in {other} but not reached"
            case "not_measured":
                return f"not measured in {other}"


class NoCommonCase(NothingMeasured):
    """No case has a number on both sides (exit code 3); `unmatched` are those that one of them has."""

    def __init__(self, unmatched: tuple[UnmatchedCase, ...], *, received: str) -> None:
        self.unmatched = unmatched
        super().__init__(
            "nothing to compare: no case has a number on both sides",
            received=received,
            legal="results that have cases in common",
            hint="measure the same ops, variants, sizes and dtypes on both sides",
        )


@dataclass(frozen=True, eq=False)
class Comparison:
    """All that a comparison has to say.

    Attributes:
        sides: what was compared.
        minimum_effect: the smallest difference that counts, as a share.
        run_spread: the least by which two runs are taken to differ, as a share; used where they are not paired.
        cases: those that both have, worst first.
        unmatched: those that one of them has.
        differences: of the environments.
        smallest: the smallest slowdown that the pair could show, as a share: of a body that several cases run if
            there is one, else of a typical case; None if none has an interval.
        common: by how much all cases moved together, the median of the ratios.
        looks: how often the data were looked at, or could have been, which the verdicts are corrected for.
        among: of how many comparisons of one run it is one, which the verdicts are corrected for as well.
        error: how often any verdict may be wrong.
        bodies: a verdict on each body that several cases run; none where sides were not measured interleaved.
    """

    sides: Sides
    minimum_effect: float
    run_spread: float
    cases: tuple[ComparedCase, ...]
    unmatched: tuple[UnmatchedCase, ...]
    differences: tuple[EnvironmentDifference, ...]
    smallest: float | None
    common: float
    looks: int = 1
    among: int = 1
    error: float = FAMILY_ERROR
    bodies: tuple[ComparedBody, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return how many cases have each outcome, from the worst on."""
        found = Counter(case.verdict.outcome for case in self.cases)
        return {outcome: found[outcome] for outcome in OUTCOMES}  # type: ignore[index]

    def slower_by(self, share: float) -> tuple[ComparedCase, ...]:
        """Return the cases that are shown to be slower, and by at least this share as far as can be told."""
        return tuple(
            case for case in self.cases if case.verdict.outcome == "slower" and case.verdict.ratio >= 1 + share
        )

    def bodies_slower_by(self, share: float) -> tuple[ComparedBody, ...]:
        """Return the bodies with the verdict slower whose estimated slowdown is at least this share."""
        return tuple(one for one in self.bodies if one.verdict.outcome == "slower" and one.verdict.ratio >= 1 + share)

    def title(self) -> str:
        """Return what was compared with what, in one line."""
        sides = self.sides
        return f"{sides.second.label} (B) against {sides.first.label} (A), by {sides.axis}, measured by {sides.tool}"

    def summary(self) -> str:
        """Return how many cases have which verdict."""
        counts = [f"{count:,} {outcome}" for outcome, count in self.counts().items() if count]
        return f"{formatting.count(len(self.cases), 'case')} compared: {formatting.listing(counts)}."


def compare_sides(
    sides: Sides,
    minimum_effect: float = MINIMUM_EFFECT,
    run_spread: float = RUN_SPREAD,
    correction: Correction = NOTHING_ELSE,
) -> Comparison:
    """Compare two sides.

    Args:
        sides: as from `sides.read_sides`.
        minimum_effect: a relative difference that is worth acting on.
        run_spread: the least by which two runs that were not interleaved differ, as one standard deviation.
        correction: what verdicts are corrected for.

    Raises:
        NoCommonCase: no case has a number on both sides.
    """
    (first, none_of_first), (second, none_of_second) = (_measured(side) for side in (sides.first, sides.second))
    small = {**none_of_second, **none_of_first}
    common = [case for case in first if case in second]
    unmatched = (
        *_unmatched("A", sides.first, sides.second, [case for case in first if case not in second]),
        *_unmatched("B", sides.second, sides.first, [case for case in second if case not in first]),
    )
    if not common:
        raise NoCommonCase(
            unmatched,
            received=f"{len(first):,} cases in {sides.first.label}, {len(second):,} in {sides.second.label}"
            + _an_example(unmatched),
        )
    large = [case for case in common if case not in small]
    bodies = shared_bodies(sides, large) if sides.paired == "block" else {}
    if sides.paired:
        pairs = pair_logs(sides)
        estimates = _paired(sides, pairs, large, correction.usual)
        of_bodies = body_estimates(pairs, bodies)
    else:
        estimates = unpaired([first[case] for case in large], [second[case] for case in large], run_spread)
        of_bodies = []
    run = sides.first.runs[0]
    looks = correction.looks or (Analyses.of(len(run.looks)) if sides.paired else ONE_ANALYSIS)
    error = correction.error or (INTERLEAVED_ERROR if sides.paired == "block" else FAMILY_ERROR)
    chances = Analyses(looks.planned * correction.among)  # a comparison more is a chance to be wrong, as a look more is
    on_bodies, on_cases = (error * ERROR_SHARE, error * (1 - ERROR_SHARE)) if bodies else (error, error)
    verdicts = dict(zip(large, verdicts_on(estimates, minimum_effect, chances, on_cases), strict=True))
    verdicts |= {case: too_small(small[case]) for case in common if case in small}
    keys = sides.first.keys
    known_bodies = [one for one in of_bodies if one.known]
    cases = [_compared(keys[case], verdicts[case], first[case], second[case]) for case in common]
    return Comparison(
        sides,
        minimum_effect,
        run_spread,
        tuple(sorted(cases, key=_badness)),
        unmatched,
        _differences(sides),
        _smallest(
            known_bodies or estimates, math.log1p(minimum_effect), chances, on_bodies if known_bodies else on_cases
        ),
        estimate.exp(float(pd.Series([one.mean for one in estimates], dtype="float64").median())),
        looks.planned,
        correction.among,
        error,
        tuple(
            ComparedBody(key, names, verdict)
            for (key, names), verdict in zip(
                bodies.items(), verdicts_on(of_bodies, minimum_effect, chances, on_bodies), strict=True
            )
        ),
    )


def _measured(side: ComparedSide) -> tuple[dict[str, Estimate], dict[str, NotAboveZero]]:
    """Return the estimate of each case that was timed, over its launches, and which are too small for a ratio."""
    logs = estimate.launch_logs(side.frame)
    small = not_above_zero(side.frame, logs)
    return {**dict.fromkeys(small, NOTHING), **estimate.estimates(logs)}, small


def _compared(key: CaseKey, verdict: CaseVerdict, first: Estimate, second: Estimate) -> ComparedCase:
    # What is left of a case that is too small for a ratio are its slow launches, which are no estimate of it.
    seconds = (
        (math.nan, math.nan) if math.isnan(verdict.ratio) else (estimate.exp(first.mean), estimate.exp(second.mean))
    )
    return ComparedCase(key, verdict, *seconds, first.n, second.n)


def _badness(case: ComparedCase) -> tuple[int, float, str]:
    ratio = case.verdict.ratio
    return OUTCOMES.index(case.verdict.outcome), -ratio if math.isfinite(ratio) else 0.0, str(case.key)


def _paired(sides: Sides, pairs: pd.DataFrame, common: Sequence[str], usual: Spread | None) -> Sequence[Estimate]:
    found = pair_estimates(sides, pairs)
    estimates = [found.get(case, Estimate.of([])) for case in common]
    if usual is None:
        usual = usual_among(estimates) if sides.paired == "block" else estimate.usual_of(estimates)
    return [one.with_usual(usual) for one in estimates]


def _unmatched(
    side: Literal["A", "B"], having: ComparedSide, lacking: ComparedSide, cases: Sequence[str]
) -> list[UnmatchedCase]:
    """Return the cases of one side for which the other has no number, each with why that is."""
    planned = {case for run in lacking.runs for case in run.cases}

    def unmatched(case: str) -> UnmatchedCase:
        key, failure = having.keys[case], lacking.failures.get(case)
        if failure is not None:
            return UnmatchedCase(key, side, "failed", failure.status, failure.reason)
        return UnmatchedCase(key, side, "not_reached" if case in planned else "not_measured")

    return [unmatched(case) for case in sorted(cases)]


def _an_example(unmatched: Sequence[UnmatchedCase]) -> str:
    """Return the first case that failed on one side, with what it failed by; "" if none did."""
    failed = next((one for one in unmatched if one.kind == "failed"), None)
    return "" if failed is None else f"; {failed.key} is {failed.status} on one side: {failed.reason}"


def _differences(sides: Sides) -> tuple[EnvironmentDifference, ...]:
    first, second = sides.first.environment, sides.second.environment
    return tuple(
        EnvironmentDifference(name, a, b, loud=name == "cpu" and NOT_TOLD not in (a, b))
        for name in SHOWN_FACTS
        if (a := _told(first.get(name))) != (b := _told(second.get(name)))
    )


def _told(values: Sequence[str] | None) -> str:
    return ", ".join(values or [NOT_TOLD])


def _smallest(estimates: Sequence[Estimate], delta: float, looks: Analyses, error: float) -> float | None:
    """Return the slowdown that nine of ten runs find, in the median over estimates, by the first of Holm's steps.

    Its interval has to end above the minimum effect. An estimate is below the slowdown as often as above it, so a
    slowdown whose interval would just do that is found in only every other run.
    """
    known = [one for one in estimates if one.known]
    if not known:
        return None
    share = looks.share(error, len(known))
    logs = []
    for one in known:
        low, high = one.interval(decisive_level(one, delta, share))
        luck = one.standard_error * float(special.stdtrit(one.degrees, POWER))
        logs.append(delta + (high - low) / 2 + luck)
    return estimate.exp(float(pd.Series(logs).median())) - 1


@dataclass(frozen=True)
class DifferentProcessors:
    """Both sides ran on different processors, so that ratios compare machines."""

    first: str
    second: str
    kind: Literal["different_processors"] = "different_processors"

    def text(self) -> str:
        """Return what a reader has to know before the table."""
        return f"{self.first} in A, {self.second} in B. The ratios compare machines, not code."


@dataclass(frozen=True)
class Paired:
    """Ratios are paired, by the rounds of the same processes (`round`) or by blocks of launches (`block`)."""

    by: Literal["round", "block"]
    kind: Literal["paired"] = "paired"

    def text(self) -> str:
        """Return what a reader has to know before the table."""
        return PAIRED[self.by]


@dataclass(frozen=True)
class NotPaired:
    """Both sides were not measured interleaved.

    Attributes:
        run_spread: the least by which two runs are taken to differ, as a share; one standard deviation.
        common: by how much all cases moved together, a ratio.
    """

    run_spread: float
    common: float
    kind: Literal["not_paired"] = "not_paired"

    def text(self) -> str:
        """Return what a reader has to know before the table."""
        return (
            "A and B were not measured interleaved, so each interval is widened by at least "
            f"{formatting.percent(self.run_spread)} (one standard deviation) for the difference between runs, and by "
            f"more where other cases differ more. The common change of all cases, {formatting.ratio(self.common)}, is "
            "attributed to the machine."
        )


@dataclass(frozen=True)
class SteppedDown:
    """Cases share the error by steps, and each interval is the one that its verdict goes by.

    Attributes:
        error: how often any verdict of such a comparison may be wrong, as a share.
        looks: how often the data were looked at, or could have been; the error is shared among these too.
        comparisons: of one run, among which it is shared as well.
    """

    error: float
    looks: int
    comparisons: int = 1
    kind: Literal["stepped_down"] = "stepped_down"

    def text(self) -> str:
        """Return what a reader has to know before the table."""
        shared = ["All cases"]
        shared += [f"{self.comparisons} comparisons of this run"] if self.comparisons > 1 else []
        shared += [f"{self.looks} analyses of the data"] if self.looks > 1 else []
        return (
            f"{formatting.listing(shared)} are corrected together (Holm), so that the chance of any false verdict is "
            f"at most {formatting.percent(self.error)}."
        )


@dataclass(frozen=True)
class NoInterval:
    """No case has an interval, so that nothing is told apart; the reason of the first one."""

    reason: Unresolved | None
    kind: Literal["no_interval"] = "no_interval"

    def text(self) -> str:
        """Return which slowdown would have been found, in a sentence."""
        why = f": {self.reason.text()}" if self.reason is not None else ""
        return f"No case has an interval, so nothing can be said{why}."


@dataclass(frozen=True)
class SmallestSlowdown:
    """The slowdown, as a share, from which on one would be found in a usual case."""

    slowdown: float
    kind: Literal["smallest_slowdown"] = "smallest_slowdown"

    def text(self) -> str:
        """Return which slowdown would have been found, in a sentence."""
        if formatting.smallest_difference(self.slowdown) == formatting.TOO_NOISY:
            return (
                "The results are too noisy: even a case that takes twice as long could be missed. Stop other work on "
                "the machine, use more launches, or measure both in one run."
            )
        return f"In a typical case, a slowdown to {formatting.ratio(1 + self.slowdown)} or more would be found."


Reach: TypeAlias = NoInterval | SmallestSlowdown
Note: TypeAlias = DifferentProcessors | Paired | NotPaired | SteppedDown | Reach | Caveat


def notes_of(comparison: Comparison) -> tuple[Note, ...]:
    """Return what a reader has to know before the table, the gravest first."""
    sides = comparison.sides
    limitations = dict.fromkeys(one for run in (*sides.first.runs, *sides.second.runs) for one in run.cannot)
    return (
        *(DifferentProcessors(one.first, one.second) for one in comparison.differences if one.loud),
        NotPaired(comparison.run_spread, comparison.common) if sides.paired == "" else Paired(sides.paired),
        *(
            (SteppedDown(comparison.error, comparison.looks, comparison.among),)
            if comparison.smallest is not None
            else ()
        ),
        reach_of(comparison),
        # That one launch has no interval is what the reach is about.
        *(one for one in limitations if one.kind != "one_launch"),
    )


def text_of(note: Note) -> str:
    """Return a note with the heading that keeps it from being overlooked, where it has one."""
    return f"{heading_of(note)}: {note.text()}" if heading_of(note) else note.text()


def heading_of(note: Note) -> str:
    """Return what must not be overlooked in a note; "" where nothing is."""
    match note:
        case DifferentProcessors():
            return "DIFFERENT PROCESSORS"
        case NotPaired():
            return "UNPAIRED"
        case _:
            return ""


def reach_of(comparison: Comparison) -> Reach:
    """Return which slowdown would have been found."""
    if comparison.smallest is None:
        return NoInterval(comparison.cases[0].verdict.reason)
    return SmallestSlowdown(comparison.smallest)


@dataclass(frozen=True)
class InterimComparison:
    """What a look shows.

    Attributes:
        open: label of each version -> ids of the cases that are worth measuring on.
        compared: cases of all comparisons.
        resolved: those that are slower, faster or equivalent.
    """

    open: dict[str, frozenset[str]]
    compared: int
    resolved: int


def interim_comparison(run: OpenRun, minimum_effect: float) -> InterimComparison:
    """Compare every version with the first and return what is open, in both of a pair.

    Of a control, which is the first version again, what is open there is: its pairs need both.

    Args:
        run: on all versions.
        minimum_effect: a relative difference that is worth acting on.
    """
    parts = [measured.side for measured in run.measured]
    axis = axis_of(parts)
    runs = read_source(run)
    first, others = parts[0], [one for one in parts[1:] if not _is_twin(one)]
    found: dict[str, set[str]] = {one.label: set() for one in parts}
    compared = resolved = 0
    sides_of = partial(_sides, axis, runs, first, str(run.folder))
    usual = usual_over([sides_of(other) for other in others]) if axis == "commit" else None
    for other in others:
        planned = {case for run, one in zip(runs, parts, strict=True) if one in (first, other) for case in run.cases}
        try:
            correction = Correction(len(others), ALL_ANALYSES, usual=usual)
            comparison = compare_sides(sides_of(other), minimum_effect, correction=correction)
            open_ = set(_open(comparison))
        except NothingMeasured:
            open_, comparison = planned, None
        compared += len(comparison.cases) if comparison is not None else len(planned)
        resolved += sum(case.verdict.outcome != "unresolved" for case in comparison.cases) if comparison else 0
        for one in (first, other):
            found[one.label] |= open_
    for one in filter(_is_twin, parts):
        found[one.label] = set(found[first.label])
    return InterimComparison({label: frozenset(cases) for label, cases in found.items()}, compared, resolved)


def _sides(axis: str, runs: Sequence[Run], first: RunSide, path: str, other: RunSide) -> Sides:
    return sides_along(axis, runs, [first.label, other.label], path)


def _is_twin(version: RunSide) -> bool:
    return version.is_control


def _open(comparison: Comparison) -> Iterable[str]:
    """Yield the cases that need more launches, including all cases of an unresolved body: its estimate needs them."""
    unresolved = {name for body in comparison.bodies if body.verdict.outcome == "unresolved" for name in body.cases}
    for case in comparison.cases:
        if case.verdict.outcome == "unresolved" or str(case.key) in unresolved:
            yield case.key.name

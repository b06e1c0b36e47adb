"""The changes between the two sides of a comparison: a verdict on each case that both have, and other differences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import special

from pyopbench.judge.comparison.bodies import ERROR_SHARE, ComparedBody, body_estimates, shared_bodies
from pyopbench.judge.comparison.sides import ComparedSide, Sides
from pyopbench.judge.decision import CaseVerdict
from pyopbench.judge.verdicts import not_above_zero, verdicts_on
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import NothingMeasured
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import FAMILY_ERROR, UNIT, Estimate, Launches, Spread, usual_spread
from pyopbench.stats.unpaired import RUN_SPREAD, unpaired
from pyopbench.store.caveats import Caveat

INTERLEAVED_ERROR = 0.01
"""How often any verdict of an interleaved comparison may be wrong. One is made for every change, so that 5% would be a
false alarm in up to every twentieth of them; docs/decisions/0022-errors-of-a-gate.md has what this costs."""
POWER = 0.9
"""The probability that a run finds the smallest slowdown that it is said to find."""
OUTCOMES = ("slower", "unresolved", "equivalent", "faster")
"""From the worst on."""
SHOWN_FACTS = (
    *("tensorflow", "numpy", "python", "pyopbench", "commit", "dirty", "cpu", "cores", "memory_bytes", "machine"),
    *("os", "governor", "intra_op_threads", "inter_op_threads", "variables", "environment"),
)
"""Facts of the environment that can move a ratio; the momentary load always differs."""

UNKNOWN_FACT = "unknown"


@dataclass(frozen=True)
class ComparedCase:
    """A case that both sides have."""

    case: str  # its id, or the name of a benchmark of another suite
    verdict: CaseVerdict  # the ratio is the second side's seconds over the first's
    # First_seconds and second_seconds: of a call, geometric means over launches; nan for what is too small for one
    first_seconds: float
    second_seconds: float
    first_launches: int  # first_launches and second_launches: how many launches each has
    second_launches: int

    def text(self) -> str:
        """Return the case with its ratio."""
        verdict = self.verdict
        return f"{self.case} is at {formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)}"


@dataclass(frozen=True)
class EnvironmentDifference:
    """A fact of the environment that is not the same on both sides; `loud` if times cannot be compared across it."""

    name: str
    first: str
    second: str
    loud: bool


@dataclass(frozen=True)
class UnmatchedCase:
    """A case that only one side has a number for."""

    case: str  # which, as in `ComparedCase`
    side: Literal["A", "B"]  # the one that has a number
    # Why the other one has none: it `failed` there, was planned and `not_reached`, or was `not_measured`
    kind: Literal["failed", "not_reached", "not_measured"]
    status: str = ""  # status and reason: of the failure; "" where there is none
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
    """All that a comparison has to say."""

    sides: Sides
    minimum_effect: float  # the smallest difference that counts, as a share
    cases: tuple[ComparedCase, ...]  # those that both have, worst first
    unmatched: tuple[UnmatchedCase, ...]  # those that one of them has
    differences: tuple[EnvironmentDifference, ...]
    # The smallest slowdown that the pair could show, as a share: of a body that several cases run if there is one, else
    # of a typical case; None if none has an interval
    smallest: float | None
    common: float  # by how much all cases moved together, the median of the ratios
    among: int = 1  # of how many comparisons of one run it is one, which the verdicts are corrected for as well
    error: float = FAMILY_ERROR  # how often any verdict may be wrong
    # A verdict on each body that several cases run; none where sides were not measured interleaved
    bodies: tuple[ComparedBody, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return how many cases have each outcome, from the worst on."""
        found = Counter(case.verdict.outcome for case in self.cases)
        return {outcome: found[outcome] for outcome in OUTCOMES}  # type: ignore[index]

    def slower_by(self, share: float) -> tuple[ComparedCase, ...]:
        """Return the cases that are shown to be slower, with a measured slowdown of at least this share."""
        return tuple(
            case for case in self.cases if case.verdict.outcome == "slower" and case.verdict.ratio >= 1 + share
        )

    def bodies_slower_by(self, share: float) -> tuple[ComparedBody, ...]:
        """Return the bodies with the verdict slower whose estimated slowdown is at least this share."""
        return tuple(one for one in self.bodies if one.verdict.outcome == "slower" and one.verdict.ratio >= 1 + share)

    def title(self) -> str:
        """Return what was compared with what, in one line."""
        sides = self.sides
        return f"{sides.second.label} (B) against {sides.first.label} (A), measured by {sides.first.run.tool}"

    def summary(self) -> str:
        """Return how many cases have which verdict."""
        counts = [f"{count:,} {outcome}" for outcome, count in self.counts().items() if count]
        return f"{formatting.count(len(self.cases), 'case')} compared: {formatting.listing(counts)}."


def compare_sides(
    sides: Sides,
    minimum_effect: float = MINIMUM_EFFECT,
    among: int = 1,
    error: float | None = None,
    usual: Spread | None = None,
) -> Comparison:
    """Compare two sides.

    Args:
        sides: as from `sides.read_sides`.
        minimum_effect: a relative difference that is worth acting on.
        among: how many comparisons of one run share the error, of which this is one.
        error: how often any verdict may be wrong; None for the usual of such sides.
        usual: the spread that is usual between launches; None for what these sides show.

    Raises:
        NoCommonCase: no case has a number on both sides.
    """
    (first, none_of_first), (second, none_of_second) = (_measured(side) for side in (sides.first, sides.second))
    small = {**none_of_second, **none_of_first}
    common = [case for case in first if case in second]
    unmatched = (
        *_unmatched("A", sides.second, [case for case in first if case not in second]),
        *_unmatched("B", sides.first, [case for case in second if case not in first]),
    )
    if not common:
        raise NoCommonCase(
            unmatched,
            received=f"{len(first):,} cases in {sides.first.label}, {len(second):,} in {sides.second.label}"
            + _an_example(unmatched),
        )
    large = [case for case in common if case not in small]
    bodies = shared_bodies(sides.first.run.catalogue, large) if sides.interleaved else {}
    if sides.interleaved:
        known = estimate.launches_by_case(sides.pairs)
        paired = [known.get(case, Launches(np.array([]))) for case in large]
        usual = usual or usual_spread(paired)
        estimates = [usual.estimate(one) for one in paired]
        of_bodies = body_estimates(sides.pairs, bodies, usual)
    else:
        estimates = unpaired([first[case] for case in large], [second[case] for case in large])
        of_bodies = []
    error = error or (INTERLEAVED_ERROR if sides.interleaved else FAMILY_ERROR)
    each = error / among
    on_bodies, on_cases = (each * ERROR_SHARE, each * (1 - ERROR_SHARE)) if bodies else (each, each)
    of_cases = verdicts_on(estimates, minimum_effect, on_cases)
    # So that `p` is compared with the error of the whole run.
    of_cases = [replace(one, p=min(one.p * error / on_cases, 1.0)) for one in of_cases]
    verdicts = dict(zip(large, of_cases, strict=True))
    verdicts |= {case: small[case] for case in common if case in small}
    body_verdicts = verdicts_on(of_bodies, minimum_effect, on_bodies)
    known_bodies = [one for one in of_bodies if one.known]
    delta = math.log1p(minimum_effect)
    return Comparison(
        sides,
        minimum_effect,
        cases=tuple(sorted((_compared(case, verdicts[case], first, second) for case in common), key=badness)),
        unmatched=unmatched,
        differences=_differences(sides),
        # Without an interval on any body, what the cases show is what there is.
        smallest=_smallest(known_bodies, delta, on_bodies) if known_bodies else _smallest(estimates, delta, on_cases),
        common=estimate.exp(float(pd.Series([one.mean for one in estimates], dtype="float64").median())),
        among=among,
        error=error,
        bodies=tuple(
            ComparedBody(key, names, verdict)
            for (key, names), verdict in zip(bodies.items(), body_verdicts, strict=True)
        ),
    )


def _measured(side: ComparedSide) -> tuple[dict[str, Estimate], dict[str, CaseVerdict]]:
    """Return the estimate of each case that was timed, over its launches, and verdicts on those without a ratio."""
    launches = estimate.launches_by_case(estimate.launch_logs(costs.round_costs(side.frame, UNIT)))
    estimates = dict(zip(launches, estimate.moderated(list(launches.values())), strict=True))
    return estimates, not_above_zero(launches)


def _compared(
    case: str, verdict: CaseVerdict, first: Mapping[str, Estimate], second: Mapping[str, Estimate]
) -> ComparedCase:
    a, b = first[case], second[case]
    return ComparedCase(case, verdict, estimate.exp(a.mean), estimate.exp(b.mean), a.n, b.n)


def badness(case: ComparedCase) -> tuple[int, float, str]:
    """Return a key that sorts the worst case first: by outcome, then by how much slower it is."""
    ratio = case.verdict.ratio
    return OUTCOMES.index(case.verdict.outcome), -ratio if math.isfinite(ratio) else 0.0, case.case


def _unmatched(side: Literal["A", "B"], lacking: ComparedSide, cases: Sequence[str]) -> list[UnmatchedCase]:
    """Return the cases of one side for which the other has no number, each with why that is."""
    planned = set(lacking.run.cases)

    def unmatched(case: str) -> UnmatchedCase:
        failure = lacking.failures.get(case)
        if failure is not None:
            return UnmatchedCase(case, side, "failed", failure.status, failure.reason)
        return UnmatchedCase(case, side, "not_reached" if case in planned else "not_measured")

    return [unmatched(case) for case in sorted(cases)]


def _an_example(unmatched: Sequence[UnmatchedCase]) -> str:
    """Return the first case that failed on one side, with what it failed by; "" if none did."""
    failed = next((one for one in unmatched if one.kind == "failed"), None)
    return "" if failed is None else f"; {failed.case} is {failed.status} on one side: {failed.reason}"


def _differences(sides: Sides) -> tuple[EnvironmentDifference, ...]:
    first, second = sides.first.run.environment, sides.second.run.environment
    return tuple(
        EnvironmentDifference(name, a, b, loud=name == "cpu" and UNKNOWN_FACT not in (a, b))
        for name in SHOWN_FACTS
        if (a := _fact_text(first.get(name))) != (b := _fact_text(second.get(name)))
    )


def _fact_text(value: Any) -> str:
    return UNKNOWN_FACT if value is None else str(value)


def _smallest(estimates: Sequence[Estimate], delta: float, error: float) -> float | None:
    """Return the slowdown that nine of ten runs find, in the median over estimates, by the first of Holm's steps.

    Its interval has to end above the minimum effect. An estimate is below the slowdown as often as above it, so a
    slowdown whose interval would just do that is found in only every other run.
    """
    known = [one for one in estimates if one.known]
    if not known:
        return None
    logs = []
    for one in known:
        low, high = one.interval(1 - error / len(known))
        luck = one.standard_error * float(special.stdtrit(one.degrees, POWER))
        logs.append(delta + (high - low) / 2 + luck)
    return estimate.exp(float(pd.Series(logs).median())) - 1


def notes_of(comparison: Comparison) -> tuple[Caveat, ...]:
    """Return the notes that come before the table, the gravest first."""
    sides = comparison.sides
    notes = [
        Caveat(
            "different_processors",
            f"{one.first} in A, {one.second} in B. The ratios compare machines, not code.",
            "DIFFERENT PROCESSORS",
        )
        for one in comparison.differences
        if one.loud
    ]
    if sides.interleaved:
        paired = "Both were sampled right after one another in every sweep, so ratios are paired by sweep."
        notes.append(Caveat("paired", paired))
    else:
        unpaired = (
            "A and B were not measured interleaved, so each interval is widened by at least "
            f"{formatting.percent(RUN_SPREAD)} (one standard deviation) for the difference between runs, and by "
            f"more where other cases differ more. The common change of all cases, "
            f"{formatting.ratio(comparison.common)}, is attributed to the machine."
        )
        notes.append(Caveat("not_paired", unpaired, "UNPAIRED"))
    if comparison.smallest is not None:
        shared = ["All bodies and cases" if comparison.bodies else "All cases"]
        shared += [f"{comparison.among} comparisons of this run"] if comparison.among > 1 else []
        corrected = (
            f"{formatting.listing(shared)} are corrected together (Holm), so that the chance of any false verdict is "
            f"at most {formatting.percent(comparison.error)}. Intervals of 95% are not corrected."
        )
        notes.append(Caveat("stepped_down", corrected))
    notes.append(reach_of(comparison))
    # The reach already says that one launch has no interval.
    caveats = dict.fromkeys((*sides.first.run.cannot, *sides.second.run.cannot))
    notes += [one for one in caveats if one.kind != "one_launch"]
    return tuple(notes)


def reach_of(comparison: Comparison) -> Caveat:
    """Return which slowdown would have been found."""
    slowdown = comparison.smallest
    if slowdown is None:
        reason = comparison.cases[0].verdict.reason
        why = "" if reason is None else f": {reason}"
        sentence = f"No case has an interval, so nothing can be said{why}."
        return Caveat("no_interval", sentence)
    return Caveat("smallest_slowdown", reach_text(slowdown))


def reach_text(slowdown: float) -> str:
    """Return that a slowdown of this share or more would have been found."""
    least = formatting.smallest_difference(slowdown)
    if least == formatting.TOO_NOISY:
        return (
            "The results are too noisy: even a case that takes twice as long could be missed. Stop other work on the "
            "machine, or give the run more time."
        )
    return f"A slowdown of {least} or more would be found."

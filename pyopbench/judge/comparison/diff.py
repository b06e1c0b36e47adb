"""What changed between the two sides of a comparison: a verdict on each case that both have, and what else differs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from pyopbench.judge.comparison.case_key import CaseKey
from pyopbench.judge.comparison.pairing import pair_estimates, usual_among
from pyopbench.judge.comparison.sides import UNKNOWN, Side, Sides
from pyopbench.judge.comparison.verdicts import (
    INTERLEAVED_ERROR,
    NOTHING_ELSE,
    CaseVerdict,
    Correction,
    not_above_zero,
    too_small,
    verdicts_on,
)
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import NothingMeasured
from pyopbench.stats import estimate
from pyopbench.stats.corrections import ONE_LOOK, Looks, decisive_level
from pyopbench.stats.estimate import FAMILY_ERROR, Estimate, Spread
from pyopbench.stats.unpaired import NOTHING, RUN_SPREAD, unpaired
from pyopbench.stats.unresolved import NotAboveZero

OUTCOMES = ("slower", "unresolved", "equivalent", "faster")
"""From the worst on."""
SHOWN_FACTS = (
    *("tensorflow", "numpy", "python", "pyopbench", "commit", "dirty", "cpu", "cores", "memory_bytes", "machine"),
    *("os", "governor", "intra_op_threads", "inter_op_threads", "variables", "environment"),
)
"""What of the environment can move a ratio; the load of the moment differs always."""


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
        smallest: the smallest slowdown that the pair could show in a usual case, as a share; None if none has an
            interval.
        common: by how much all cases moved together, the median of the ratios.
        looks: how often the data were looked at, or could have been, which the verdicts are corrected for.
        among: of how many comparisons of one run it is one, which the verdicts are corrected for as well.
        error: how often any verdict may be wrong.
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

    def counts(self) -> dict[str, int]:
        """Return how many cases have each outcome, from the worst on."""
        found = Counter(case.verdict.outcome for case in self.cases)
        return {outcome: found[outcome] for outcome in OUTCOMES}  # type: ignore[index]

    def slower_by(self, share: float) -> tuple[ComparedCase, ...]:
        """Return the cases that are shown to be slower, and by at least this share as far as can be told."""
        return tuple(
            case for case in self.cases if case.verdict.outcome == "slower" and case.verdict.ratio >= 1 + share
        )


def compare_sides(
    sides: Sides,
    minimum_effect: float = MINIMUM_EFFECT,
    run_spread: float = RUN_SPREAD,
    correction: Correction = NOTHING_ELSE,
) -> Comparison:
    """Compare two sides.

    Args:
        sides: as from `select.read_sides`.
        minimum_effect: a relative difference that is worth acting on.
        run_spread: the least by which two runs that were not interleaved differ, as one standard deviation.
        correction: what verdicts are corrected for.

    Raises:
        NothingMeasured: no case has a number on both sides.
    """
    (first, none_of_first), (second, none_of_second) = (_measured(side) for side in (sides.first, sides.second))
    small = {**none_of_second, **none_of_first}
    common = [case for case in first if case in second]
    unmatched = (
        *_unmatched("A", sides.first, sides.second, [case for case in first if case not in second]),
        *_unmatched("B", sides.second, sides.first, [case for case in second if case not in first]),
    )
    if not common:
        raise NothingMeasured(
            "nothing to compare: no case has a number on both sides",
            received=f"{len(first):,} cases in {sides.first.label}, {len(second):,} in {sides.second.label}"
            + _an_example(unmatched),
            legal="results that have cases in common",
            hint="measure the same ops, variants, sizes and dtypes on both sides",
        )
    large = [case for case in common if case not in small]
    estimates = (
        _paired(sides, large, correction.usual)
        if sides.paired
        else unpaired([first[case] for case in large], [second[case] for case in large], run_spread)
    )
    run = sides.first.runs[0]
    looks = correction.looks or (Looks.of(len(run.looks)) if sides.paired else ONE_LOOK)
    error = correction.error or (INTERLEAVED_ERROR if sides.paired == "block" else FAMILY_ERROR)
    chances = Looks(looks.planned * correction.among)  # a comparison more is a chance to be wrong, as a look more is
    verdicts = dict(zip(large, verdicts_on(estimates, minimum_effect, chances, error), strict=True))
    verdicts |= {case: too_small(small[case]) for case in common if case in small}
    keys = sides.first.keys
    cases = [_compared(keys[case], verdicts[case], first[case], second[case]) for case in common]
    return Comparison(
        sides,
        minimum_effect,
        run_spread,
        tuple(sorted(cases, key=_badness)),
        unmatched,
        _differences(sides),
        _smallest(estimates, math.log1p(minimum_effect), chances, error),
        estimate.exp(float(pd.Series([one.mean for one in estimates], dtype="float64").median())),
        looks.planned,
        correction.among,
        error,
    )


def _measured(side: Side) -> tuple[dict[str, Estimate], dict[str, NotAboveZero]]:
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


def _paired(sides: Sides, common: Sequence[str], usual: Spread | None) -> Sequence[Estimate]:
    found = pair_estimates(sides)
    estimates = [found.get(case, Estimate.of([])) for case in common]
    if usual is None and sides.paired == "block":
        usual = usual_among(estimates)
    return estimate.moderated(estimates, usual)


def _unmatched(side: Literal["A", "B"], having: Side, lacking: Side, cases: Sequence[str]) -> list[UnmatchedCase]:
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
        EnvironmentDifference(name, a, b, loud=name == "cpu" and UNKNOWN not in (a, b))
        for name in SHOWN_FACTS
        if (a := _told(first.get(name))) != (b := _told(second.get(name)))
    )


def _told(values: Sequence[str] | None) -> str:
    return ", ".join(values or [UNKNOWN])


def _smallest(estimates: Sequence[Estimate], delta: float, looks: Looks, error: float) -> float | None:
    """Return the slowdown whose interval of the first step would just leave the minimum effect, in the median."""
    known = [one for one in estimates if one.known]
    if not known:
        return None
    share = looks.share(error, len(known))
    intervals = [one.interval(decisive_level(one, delta, share)) for one in known]
    half = float(pd.Series([(high - low) / 2 for low, high in intervals]).median())
    return estimate.exp(delta + half) - 1

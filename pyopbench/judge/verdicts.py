"""Each case against the baseline of its group: faster, slower, equivalent, or unresolved and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from pyopbench.judge.decision import Outcome, Verdict
from pyopbench.stats import estimate as statistics
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.looks import ONE_LOOK, Looks
from pyopbench.stats.unresolved import AcrossBorder, NeverPaired, Unresolved


def verdicts_of(
    paired: pd.DataFrame, baselines: Mapping[str, str], minimum_effect: float, looks: Looks = ONE_LOOK
) -> tuple[Verdict, ...]:
    """Return the verdicts of a report, corrected for all of them together and for every look that was planned.

    Args:
        paired: `estimate.paired_logs` of these cases.
        baselines: id of a case -> id of its baseline.
        minimum_effect: a relative difference that is worth acting on (0.03 is 3%).
        looks: how often the run looked at its data, or could have.

    Returns:
        One verdict per case of `baselines`, in their order.
    """
    found = statistics.estimates(paired)
    estimates = statistics.moderated([found.get(case, Estimate.of([])) for case in baselines])
    return verdicts_from(estimates, baselines, minimum_effect, looks)


def verdicts_from(
    estimates: Sequence[Estimate], baselines: Mapping[str, str], minimum_effect: float, looks: Looks = ONE_LOOK
) -> tuple[Verdict, ...]:
    """Return the verdicts on estimates of log ratios, one for each case of `baselines` in their order.

    Args:
        estimates: with the spread that they are to be judged by.
        baselines: as in `verdicts_of`.
        minimum_effect: as there.
        looks: as there.
    """
    delta = math.log1p(minimum_effect)
    adjusted = statistics.holm([looks.spent(estimate.effect_p(delta)) for estimate in estimates])
    return tuple(
        _verdict(pair, estimate, p, Yardstick(delta, len(estimates), looks))
        for pair, estimate, p in zip(baselines.items(), estimates, adjusted, strict=True)
    )


@dataclass(frozen=True)
class Yardstick:
    """What verdicts are held against: `delta`, the log of one plus the minimum effect, and how `many` they are."""

    delta: float
    many: int
    looks: Looks

    @property
    def level(self) -> float:
        """The level of an interval that is corrected for all of them and all looks in a single step."""
        return 1 - self.looks.share(statistics.FAMILY_ERROR, self.many)

    def border(self, estimate: Estimate) -> float:
        """Return the end of [-delta, delta] that the estimate lies nearer to."""
        return math.copysign(self.delta, estimate.mean)


def _verdict(pair: tuple[str, str], estimate: Estimate, p: float, yardstick: Yardstick) -> Verdict:
    low, high = estimate.interval()
    outcome = _outcome(estimate, p, yardstick.delta)
    return Verdict(
        case=pair[0],
        baseline=pair[1],
        ratio=statistics.exp(estimate.mean),
        low=statistics.exp(low),
        high=statistics.exp(high),
        launches=estimate.n,
        p=p,
        outcome=outcome,
        reason=_why_unresolved(estimate, yardstick) if outcome == "unresolved" else None,
        needed=_needed(estimate, yardstick) if outcome == "unresolved" else estimate.n,
        fewest=_fewest(estimate, yardstick) if outcome == "unresolved" else estimate.n,
        trimmed=estimate.trimmed,
    )


def _outcome(estimate: Estimate, p: float, delta: float) -> Outcome:
    # "Not at most" instead of "above", so that a p that is no number resolves nothing.
    if not estimate.known or not p <= statistics.FAMILY_ERROR:
        return "unresolved"
    if abs(estimate.mean) <= delta:
        return "equivalent"
    return "faster" if estimate.mean < 0 else "slower"


def _needed(estimate: Estimate, yardstick: Yardstick) -> int | None:
    return estimate.launches_to_clear(yardstick.border(estimate), yardstick.level)


def _fewest(estimate: Estimate, yardstick: Yardstick) -> int | None:
    return estimate.fewest_launches(yardstick.border(estimate), yardstick.level)


def _why_unresolved(estimate: Estimate, yardstick: Yardstick) -> Unresolved:
    """Return how far the interval reaches and what would settle it.

    The interval is the single-step one, at 1 - 0.05 / (verdicts * looks): it straddles whenever Holm's step-down leaves
    a verdict open, because no adjusted p is above its p times both.
    """
    if estimate.n == 0:
        return NeverPaired()
    if not estimate.known:
        return estimate.why_unknown
    low, high = (statistics.exp(end) for end in estimate.interval(yardstick.level))
    border = yardstick.border(estimate)
    return AcrossBorder(
        low,
        high,
        border=statistics.exp(border),
        verdicts=yardstick.many,
        looks=yardstick.looks.planned,
        remedy=estimate.remedy(border, yardstick.level),
    )

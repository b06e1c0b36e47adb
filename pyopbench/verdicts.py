"""Each case against the baseline of its group: faster, slower, equivalent, or unresolved and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from pyopbench import stats, text
from pyopbench.model import Outcome, Verdict
from pyopbench.stats import Estimate


def verdicts_of(paired: pd.DataFrame, baselines: Mapping[str, str], minimum_effect: float) -> tuple[Verdict, ...]:
    """Return the verdicts of a report, corrected for all of them together.

    Args:
        paired: `stats.paired_logs` of these cases.
        baselines: id of a case -> id of its baseline.
        minimum_effect: a relative difference that is worth acting on (0.03 is 3%).

    Returns:
        One verdict per case of `baselines`, in their order.
    """
    found = stats.estimates(paired)
    estimates = stats.moderated([found.get(case, Estimate.of([])) for case in baselines])
    delta = math.log1p(minimum_effect)
    adjusted = stats.holm([estimate.effect_p(delta) for estimate in estimates])
    return tuple(
        _verdict(pair, estimate, p, Yardstick(delta, len(estimates)))
        for pair, estimate, p in zip(baselines.items(), estimates, adjusted, strict=True)
    )


@dataclass(frozen=True)
class Yardstick:
    """What verdicts are held against: `delta`, the log of one plus the minimum effect, and how `many` they are."""

    delta: float
    many: int

    @property
    def level(self) -> float:
        """The level of an interval that is corrected for all of them in a single step."""
        return 1 - stats.FAMILY_ERROR / self.many


def _verdict(pair: tuple[str, str], estimate: Estimate, p: float, yardstick: Yardstick) -> Verdict:
    low, high = estimate.interval()
    outcome = _outcome(estimate, p, yardstick.delta)
    return Verdict(
        case=pair[0],
        baseline=pair[1],
        ratio=stats.exp(estimate.mean),
        low=stats.exp(low),
        high=stats.exp(high),
        launches=estimate.n,
        p=p,
        outcome=outcome,
        reason=_why_unresolved(estimate, yardstick) if outcome == "unresolved" else "",
    )


def _outcome(estimate: Estimate, p: float, delta: float) -> Outcome:
    # "Not at most" instead of "above", so that a p that is no number resolves nothing.
    if estimate.n < 2 or not p <= stats.FAMILY_ERROR:
        return "unresolved"
    if abs(estimate.mean) <= delta:
        return "equivalent"
    return "faster" if estimate.mean < 0 else "slower"


def _why_unresolved(estimate: Estimate, yardstick: Yardstick) -> str:
    """Say how far the interval reaches and about how many launches would resolve it.

    The interval is the single-step one, at 1 - 0.05 / N: it straddles whenever Holm's step-down leaves a verdict open,
    because no adjusted p is above N times its p.
    """
    if estimate.n == 0:
        return "never measured in one launch and round together with the baseline"
    if estimate.n == 1:
        return "one launch gives no interval"
    low, high = (stats.exp(end) for end in estimate.interval(yardstick.level))
    border = math.copysign(yardstick.delta, estimate.mean)
    return (
        f"the interval corrected for {text.count(yardstick.many, 'verdict')} reaches from {text.ratio(low)} to "
        f"{text.ratio(high)}, across the border of {text.ratio(stats.exp(border))}; "
        f"{estimate.more_launches(border, yardstick.level)}"
    )

"""Each case of one side against the same of the other: slower, faster, equivalent, or unresolved and why.

The interval of a case is the one that its verdict goes by: it holds a border of the minimum effect exactly where the
verdict is open. `stats.corrections` says how the cases share the error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from pyopbench.judge.decision import Outcome
from pyopbench.stats import costs
from pyopbench.stats import estimate as statistics
from pyopbench.stats.corrections import Looks, Step, step_down
from pyopbench.stats.estimate import FAMILY_ERROR, UNIT, Estimate, Spread
from pyopbench.stats.unresolved import AcrossBorder, NeverPaired, NotAboveZero, Unresolved

INTERLEAVED_ERROR = 0.01
"""How often any verdict of an interleaved comparison may be wrong. One is made for every change, so that 5% would be a
false alarm in up to every twentieth of them; docs/decisions/0022-errors-of-a-gate.md has what this costs."""


@dataclass(frozen=True)
class Correction:
    """What the verdicts of a comparison are corrected for beside being many, and what is known from others.

    Attributes:
        among: how many comparisons of one run share the error, of which this is one.
        looks: at the data that are charged; None for those that paired runs tell of.
        error: how often any verdict may be wrong; None for what is usual of such sides.
        usual: the spread that is usual between launches; None for what these sides tell of it.
    """

    among: int = 1
    looks: Looks | None = None
    error: float | None = None
    usual: Spread | None = None


NOTHING_ELSE = Correction()


@dataclass(frozen=True)
class CaseVerdict:
    """A case on the second side against the first.

    Attributes:
        ratio: seconds of the second over seconds of the first; nan where there is none.
        low, high: the interval that the verdict goes by.
        level: of that interval, two-sided; nan where there is none.
        launches: what the ratio is made of, or pairs of launches.
        p: adjusted for all cases and for the looks at the data.
        outcome: follows from `p` and the minimum effect.
        reason: why an `unresolved` one is left open.
    """

    ratio: float
    low: float
    high: float
    level: float
    launches: int
    p: float
    outcome: Outcome
    reason: Unresolved | None = None


def verdicts_on(
    estimates: Sequence[Estimate], minimum_effect: float, looks: Looks, error: float = FAMILY_ERROR
) -> list[CaseVerdict]:
    """Return a verdict on each estimate of a log ratio, in order.

    Args:
        estimates: with the spread that they are to be judged by.
        minimum_effect: a relative difference that is worth acting on.
        looks: how often the data were looked at, or could have been.
        error: how often any of the verdicts may be wrong.
    """
    delta = math.log1p(minimum_effect)
    steps = step_down(estimates, delta, looks, error)
    outcomes = [_outcome(one, step.p, error, delta) for one, step in zip(estimates, steps, strict=True)]
    return [
        _verdict(one, step, outcome, delta, looks)
        for one, step, outcome in zip(estimates, steps, outcomes, strict=True)
    ]


def not_above_zero(frame: pd.DataFrame, logs: pd.DataFrame) -> dict[str, NotAboveZero]:
    """Return the cases of mode node that cost nothing that could be told from zero in some launch.

    Their cost is a difference of two times, and noise can take it below zero. The launches in which it does not would
    be a choice of the slow ones, so that no ratio is made of them.

    Args:
        frame: one row per timed block, as `sides.Side.frame`.
        logs: `statistics.launch_logs` of it.
    """
    rows = frame[(frame["mode"] == costs.MODE) & (frame["copies"] > 0)]  # without the empty function
    measured = rows[["case", *UNIT]].drop_duplicates().groupby("case", observed=True).size()
    above = logs.groupby("case", observed=True).size()
    lost = {str(case): (count - int(above.get(case, 0)), count) for case, count in measured.items()}
    return {case: NotAboveZero(gone, int(made)) for case, (gone, made) in lost.items() if gone}


def too_small(reason: NotAboveZero) -> CaseVerdict:
    """Return the verdict on a case that is too small for a ratio."""
    nan = math.nan
    return CaseVerdict(nan, nan, nan, nan, reason.launches, 1.0, "unresolved", reason)


def _verdict(estimate: Estimate, step: Step, outcome: Outcome, delta: float, looks: Looks) -> CaseVerdict:
    low, high = (statistics.exp(end) for end in estimate.interval(step.level))
    ratio = statistics.exp(estimate.mean)
    found = CaseVerdict(ratio, low, high, step.level, estimate.n, step.p, outcome)
    if found.outcome != "unresolved":
        return found
    return replace(found, reason=_reason(estimate, found, step, delta, looks))


def _outcome(estimate: Estimate, p: float, error: float, delta: float) -> Outcome:
    if not p <= error:
        return "unresolved"
    if abs(estimate.mean) <= delta:
        return "equivalent"
    return "faster" if estimate.mean < 0 else "slower"


def _reason(estimate: Estimate, verdict: CaseVerdict, step: Step, delta: float, looks: Looks) -> Unresolved:
    if estimate.n == 0:
        return NeverPaired()
    if not estimate.known:
        return estimate.why_unknown
    border = math.copysign(delta, estimate.mean)
    return AcrossBorder(
        verdict.low,
        verdict.high,
        border=statistics.exp(border),
        verdicts=step.cases,
        looks=looks.planned,
        remedy=estimate.remedy(border, step.level),
    )

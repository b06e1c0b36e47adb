"""Each case against the baseline of its group: faster, slower, equivalent, or unresolved and why."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pyopbench.judge.decision import Outcome, Verdict
from pyopbench.stats import estimate as statistics
from pyopbench.stats.corrections import ONE_LOOK, Looks, holm
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.launch_model import LaunchModel, Shares
from pyopbench.stats.unresolved import AcrossBorder, NeverPaired, Unresolved

ONE_MACHINE: Mapping[int, str] = {}
"""Of launches that were all on one machine."""
NO_SHARES = Shares(np.array([]), np.array([]), 0.0)


@dataclass(frozen=True)
class Unit:
    """The unit that a difference is estimated in.

    Attributes:
        ratio: turns a difference into seconds over the baseline's seconds.
        delta: turns the minimum effect into a difference.
    """

    ratio: Callable[[float], float]
    delta: Callable[[float], float]


LOGS = Unit(statistics.exp, math.log1p)
"""Differences are logs of ratios, as between two runs."""
SHARES = Unit(lambda difference: max(1 + difference, 0.0), lambda effect: effect)
"""Differences are shares of the baseline's time, as within a run."""


def estimates_of(
    shares: Mapping[str, Shares], baselines: Mapping[str, str], ports: Collection[str], model: LaunchModel, runs: int
) -> list[Estimate]:
    """Return the estimate of each case over launches, in the order of `baselines`.

    Args:
        shares: `shares_of` the cases.
        baselines: id of a case -> id of its baseline.
        ports: ids of the cases that are ports compared with a callback: these shift from run to run.
        model: what launches differ by.
        runs: how many runs the launches are of.
    """
    estimates = []
    for case in baselines:
        found = shares.get(case, NO_SHARES)
        moved = 1 + float(found.values.mean()) if case in ports and found.values.size else 0.0
        estimates.append(model.estimate(found, moved, runs))
    return estimates


def shares_of(medians: pd.DataFrame, hosts: Mapping[int, str] = ONE_MACHINE) -> dict[str, Shares]:
    """Return for each case what it costs less its baseline, in shares of the baseline's time, by launch.

    Args:
        medians: `costs.launch_medians`.
        hosts: number of a launch -> the machine that it was on; none where all were on one.
    """
    values, errors = (medians[name].to_numpy(dtype="float64") for name in ("value", "error"))
    machines = np.array([hosts[launch] for launch in medians["launch"].tolist()] if hosts else [])
    return {
        str(case): Shares(
            values[places] - 1,
            errors[places],
            float(values[places].mean()) ** 2,
            tuple(machines[places].tolist()) if hosts else (),
        )
        for case, places in sorted(medians.groupby("case", observed=True).indices.items())
    }


def verdicts_from(
    estimates: Sequence[Estimate],
    baselines: Mapping[str, str],
    minimum_effect: float,
    looks: Looks = ONE_LOOK,
    unit: Unit = LOGS,
) -> tuple[Verdict, ...]:
    """Return the verdicts on estimated differences, corrected for all of them together and for every look.

    Args:
        estimates: with the spread that they are to be judged by.
        baselines: id of a case -> id of its baseline.
        minimum_effect: a relative difference that is worth acting on (0.03 is 3%).
        looks: how often the run looked at its data.
        unit: of the differences.

    Returns:
        One verdict per case of `baselines`, in their order.
    """
    delta = unit.delta(minimum_effect)
    adjusted = holm([looks.spent(estimate.effect_p(delta)) for estimate in estimates])
    return tuple(
        _verdict(pair, estimate, p, Yardstick(delta, len(estimates), looks, unit))
        for pair, estimate, p in zip(baselines.items(), estimates, adjusted, strict=True)
    )


@dataclass(frozen=True)
class Yardstick:
    """What verdicts are held against: `delta`, the least difference that counts, and how `many` they are."""

    delta: float
    many: int
    looks: Looks
    unit: Unit = LOGS

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
        ratio=yardstick.unit.ratio(estimate.mean),
        low=yardstick.unit.ratio(low),
        high=yardstick.unit.ratio(high),
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
    low, high = (yardstick.unit.ratio(end) for end in estimate.interval(yardstick.level))
    border = yardstick.border(estimate)
    return AcrossBorder(
        low,
        high,
        border=yardstick.unit.ratio(border),
        verdicts=yardstick.many,
        looks=yardstick.looks.planned,
        remedy=estimate.remedy(border, yardstick.level),
    )

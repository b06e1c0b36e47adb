"""Log ratios of two sides that were measured interleaved: one for each case and pair of launches, and the estimates."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from pyopbench.compare.sides import Sides
from pyopbench.stats import estimate
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.machines import over_each_machine
from pyopbench.stats.spread import LEAST_COMPARISONS, UNKNOWN, Spread, usual_spread

LEAST_CASES, LEAST_LAUNCHES = 6, 4
"""So few cases show which spread is usual if each has as many launches. Simulated with six cases and four launches, a
slowdown by 5% was found in 48% of gates in place of 12%, with fewer false alarms (docs/decisions/0022)."""


def pair_estimates(sides: Sides) -> dict[str, Estimate]:
    """Return the estimate of each case that both paired sides have, with the spread that its own launches show."""
    pairs = paired_by_round(sides) if sides.paired == "round" else paired_by_block(sides)
    hosts = sides.first.runs[0].hosts  # what is paired is of one run, or of versions that were measured together
    launches = pairs.rename(columns={"block": "launch"})
    return over_each_machine(launches, hosts) if hosts else estimate.estimates(pairs)


def usual_over(several: Sequence[Sides]) -> Spread | None:
    """Return which spread is usual in several comparisons of one run, which share their launches and machine.

    A comparison of few cases does not show that by itself, but many commits of these few cases do.

    Returns:
        None for fewer than two comparisons, and where all of them are too few, as in `usual_spread`.
    """
    if len(several) < 2 or any(sides.paired != "block" for sides in several):
        return None
    usual = usual_among([one for sides in several for one in pair_estimates(sides).values()])
    return None if usual == UNKNOWN else usual


def usual_among(estimates: Sequence[Estimate]) -> Spread:
    """Return which spread is usual among estimates of interleaved cases, `UNKNOWN` where they do not show it."""
    many = all(one.n >= LEAST_LAUNCHES for one in estimates if one.known)
    least = LEAST_CASES if many else LEAST_COMPARISONS
    return usual_spread(((one.deviation, one.own_degrees) for one in estimates), least)


def paired_by_round(sides: Sides) -> pd.DataFrame:
    """Return one log ratio for each case and launch, paired by round: both sides are of the same processes."""
    before = sides.first.frame.assign(case="first " + sides.first.frame["case"])
    after = sides.second.frame.assign(case="second " + sides.second.frame["case"])
    cases = {f"second {case}": case for case in sides.second.frame["case"].unique()}
    partners = {second: f"first {case}" for second, case in cases.items()}
    pairs = estimate.paired_logs(pd.concat([before, after], ignore_index=True), partners)
    return pairs.assign(case=pairs["case"].map(cases))


def paired_by_block(sides: Sides) -> pd.DataFrame:
    """Return one log ratio for each case and block of launches.

    A block holds a launch of each side, in random order, so that what the machine did meanwhile is common to both. A
    block in which either has no number is left out; several launches of one side in a block become their mean.

    Returns:
        Columns case, run, block, value; sorted by them.
    """
    first, second = (_block_logs(side.frame) for side in (sides.first, sides.second))
    pairs = first.merge(second, on=["case", "run", "block"], suffixes=("_first", "_second"))
    pairs = pairs.assign(value=pairs["value_second"] - pairs["value_first"])
    return pairs[["case", "run", "block", "value"]].sort_values(["case", "run", "block"], ignore_index=True)


def _block_logs(frame: pd.DataFrame) -> pd.DataFrame:
    blocks = frame[["run", "launch", "block"]].drop_duplicates()
    logs = estimate.launch_logs(frame).merge(blocks, on=["run", "launch"])
    return logs.groupby(["case", "run", "block"], observed=True)["value"].mean().reset_index()

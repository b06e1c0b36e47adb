"""Log ratios of two sides that were measured interleaved: one for each case and pair of launches, and the estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from pyopbench.judge.comparison.sides import Sides
from pyopbench.stats import costs, estimate
from pyopbench.stats.estimate import LEAST_COMPARISONS, UNKNOWN, Estimate, Spread, usual_spread
from pyopbench.stats.launch_model import over_each_machine

BLOCK_COLUMNS = ["run", "block"]
"""What makes a block: launches of one number, one of each version or revision, which sample in turns."""
LEAST_CASES, LEAST_LAUNCHES = 6, 4
"""So few cases show which spread is usual if each has as many launches. Simulated with six cases and four launches, a
slowdown by 5% was found in 48% of gates in place of 12%, with fewer false alarms (docs/decisions/0022)."""


def pair_estimates(sides: Sides) -> dict[str, Estimate]:
    """Return the estimate of each case that both paired sides have, with the spread that its own launches show."""
    by_round = sides.paired == "round"
    pairs = paired_by_round(sides) if by_round else sweep_logs(sides.first.frame, sides.second.frame)
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
    both, cases, partners = _labelled(sides.first.frame, sides.second.frame)
    pairs = estimate.paired_logs(both, partners)
    return pairs.assign(case=pairs["case"].map(cases))


def sweep_logs(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Return one log ratio for each case and block of launches, paired by sweep.

    A block holds a launch of each side. In each sweep both sample a group right after one another, so that what the
    machine did meanwhile is common to both; a round of the one has no partner in the other. So the medians of the
    rounds of a sweep are paired, and several launches of one side in a block are pooled. A block in which either side
    has no number is left out.

    Args:
        first: samples of a side, as `Run.frame`, with a column `block`.
        second: of the other, as the first.

    Returns:
        Columns case, run, block, and value, the natural log of second over first; sorted by case, run and block.
    """
    both, cases, partners = _labelled(_sweep_costs(first), _sweep_costs(second))
    pairs = estimate.ratio_logs(both, partners, BLOCK_COLUMNS)
    return pairs.assign(case=pairs["case"].map(cases))


def _sweep_costs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what each case costs in each sweep of a block, with the sweep in place of the round."""
    rounds = costs.round_costs(frame, [*BLOCK_COLUMNS, "launch", "sweep"])
    medians = rounds.groupby(["case", *BLOCK_COLUMNS, "sweep"], observed=True)["seconds"].median()
    return medians.reset_index().rename(columns={"sweep": "round"})


def _labelled(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, Mapping[str, str], Mapping[str, str]]:
    """Return both in one frame, and by the label of each case of the second the case, and its label in the first."""
    before = first.assign(case="first " + first["case"].astype("str"))
    after = second.assign(case="second " + second["case"].astype("str"))
    cases = {f"second {case}": case for case in second["case"].unique()}
    both = pd.concat([before, after], ignore_index=True)
    return both, cases, {name: f"first {case}" for name, case in cases.items()}

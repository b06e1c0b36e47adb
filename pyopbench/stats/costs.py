"""The cost of one op in each round: seconds of a call, or in mode node of one of the copies beyond the empty function.

In mode node a round times a graph of k copies and, once for the whole group, a function that does nothing with the same
arguments. Their difference over k is what an op costs inside a graph; it is a number also where it is not above zero,
because what it is compared with, the current callback, costs far more than it is uncertain by.

The cost of a callback is that of the first of a graph, as of one that stands between other ops: those right after it
find its threads awake and cost less than half as much, so that a mean over k would hang on k, which each process finds
out for itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

MODE = "node"
"""The mode in which a case is a graph of copies."""

MEDIAN_ERROR = math.sqrt(math.pi / 2)
"""Standard error of a median over that of a mean, for normal noise and many values."""
NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation, 1 / 0.6745."""


def round_costs(frame: pd.DataFrame, unit: Sequence[str]) -> pd.DataFrame:
    """Return what each case costs in each round: columns case, those of `unit`, round, seconds (float64).

    Blocks of one case in one round (a group that was measured again) become their median. In mode node the graph of one
    copy of a case counts where there is one, as of every callback, else its largest, less the empty function.

    Args:
        frame: one row per timed block, in any order, as `measured_run.Run.frame`.
        unit: the columns that make one launch.
    """
    keys = ["case", *unit, "round"]
    # What took no longer than reading the clock has no cost, and the empty function is what costs are taken from.
    frame = frame[(frame["seconds"] > 0) & (frame["copies"] > 0)]
    blocks = frame[[*keys, "mode", "copies", "floor_seconds"]].assign(y=frame["seconds"] / frame["calls"])
    is_node = blocks["mode"] == MODE
    calls = _call_costs(blocks[~is_node], keys)
    if not is_node.any():
        return calls
    nodes = _node_costs(blocks[is_node], keys)
    # Only where there is something to join: pandas takes the types of columns from empty frames as well.
    return pd.concat([one for one in (calls, nodes) if len(one)], ignore_index=True) if len(calls) else nodes


def _call_costs(blocks: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return the median of the blocks of a case in a round, of which there is one unless a group was measured again."""
    if not blocks.duplicated(list(keys)).any():
        return blocks[list(keys)].assign(seconds=blocks["y"]).reset_index(drop=True)
    return blocks.groupby(list(keys), observed=True)["y"].median().rename("seconds").reset_index()


def _node_costs(blocks: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    points = blocks.groupby([*keys, "copies"], observed=True)[["y", "floor_seconds"]].median().reset_index()
    copies = points.groupby(list(keys[:-1]), observed=True)["copies"]
    least, most = copies.transform("min"), copies.transform("max")
    counted = points[points["copies"] == most.where(least > 1, 1)]
    costs = counted[list(keys)].assign(seconds=(counted["y"] - counted["floor_seconds"]) / counted["copies"])
    return costs.dropna(subset="seconds").reset_index(drop=True)


def ratios(costs: pd.DataFrame, baseline_of: Mapping[str, str], unit: Sequence[str]) -> pd.DataFrame:
    """Return the cost of each case over that of its baseline in the same round, as it counts in the launch.

    Both lie within moments of each other, so whatever slows both down cancels. The ratio of a launch is the share rho
    at which `cost - rho * baseline` is above zero as often as below. Where the baseline costs something in every round
    that is the median of the ratios of rounds. Where noise makes it cost less than nothing in some, rounds have no
    ratio: those that are left are the ones in which it happened to be dear, and the median of theirs made a copy of the
    baseline 20% cheaper than itself on a busy machine. A round counts as rho and what it is off by, over the median of
    the baseline: `rho + (cost - rho * baseline) / median`, whose median is rho and whose spread is that of rho
    (linearised as a ratio of means is: W. G. Cochran, "Sampling Techniques", 3rd ed. 1977, section 6.3; confidence
    limits by the difference: E. C. Fieller, J. R. Stat. Soc. B 16 (1954) 175-185).

    Args:
        costs: `round_costs`.
        baseline_of: id of a case -> id of the case that it is compared with.
        unit: the columns that make one launch, or a pair of launches.

    Returns:
        Columns case, those of `unit`, round, ratio; without launches in which the baseline mostly costs nothing.
    """
    cases = costs[costs["case"].isin(list(baseline_of))]
    cases = cases.assign(baseline=cases["case"].map(dict(baseline_of)).astype(costs["case"].dtype))
    baselines = costs[costs["case"].isin(list(set(baseline_of.values())))]
    baselines = baselines.rename(columns={"case": "baseline", "seconds": "today"})
    pairs = cases.merge(baselines, on=["baseline", *unit, "round"]).reset_index(drop=True)
    pairs = pairs.astype({"seconds": "float64", "today": "float64"})  # also where there are none
    launch = pairs.groupby(["case", *unit], observed=True, sort=False).ngroup()
    level = pairs["today"].groupby(launch).transform("median")
    rho = launch.map(_balanced_ratios(pairs["seconds"], pairs["today"], launch))
    off = pairs["seconds"] - rho * pairs["today"]
    off -= off.groupby(launch).transform("median")  # it is 0 but where an even number of rounds has two middle ones
    counted = rho + off / level
    return pairs[["case", *unit, "round"]].assign(ratio=counted)[rho.notna() & (level > 0)].reset_index(drop=True)


def _balanced_ratios(costs: pd.Series[float], baselines: pd.Series[float], launch: pd.Series[int]) -> pd.Series[float]:
    """Return for each launch rho at which `costs - rho * baselines` is above zero as often as below.

    Each round changes sides at its own ratio: as rho grows, from above to below where its baseline is above zero, and
    else from below to above. Of several places at which as many are on either side, the one next to the ratio of
    medians is taken.
    """
    rounds = pd.DataFrame({"launch": launch, "cost": costs, "baseline": baselines, "side": np.sign(baselines)})
    medians = rounds.groupby("launch")[["cost", "baseline"]].median()
    rounds = rounds[rounds["side"] != 0]
    rounds = rounds.assign(at=rounds["cost"] / rounds["baseline"]).sort_values(["launch", "at"])
    sides = rounds.groupby("launch")["side"]
    after = sides.transform("sum") - 2 * sides.cumsum()
    following = rounds.groupby("launch")["at"].shift(-1)
    at = rounds["at"].where(after < 0, (rounds["at"] + following) / 2)
    found = pd.DataFrame({"launch": rounds["launch"], "at": at})[(after <= 0) & (after + 2 * rounds["side"] > 0)]
    usual = found["launch"].map(medians["cost"] / medians["baseline"])
    found = found.assign(off=(found["at"] - usual).abs()).sort_values(["launch", "off"], kind="stable")
    return found.groupby("launch")["at"].first()


def launch_medians(values: pd.DataFrame, column: str, unit: Sequence[str]) -> pd.DataFrame:
    """Reduce the rounds of each case and launch to one number, because rounds of one process are not independent.

    Returns:
        Columns case, those of `unit`, value (the median over rounds), error (its standard error) and rounds; sorted by
        the first ones. The noise of a round is the median over the launches of a case of what the median absolute
        deviation in each shows, because few rounds say little about it; nan if no launch has two rounds.
    """
    keys = ["case", *unit]
    grouped = values.groupby(keys, observed=True)[column]
    off = (values[column] - grouped.transform("median")).abs()
    found = grouped.agg(["median", "size"])
    spread = off.groupby([values[key] for key in keys], observed=True).median().where(found["size"] > 1)
    noise = NORMAL_MAD * MEDIAN_ERROR * spread.groupby("case", observed=True).transform("median")
    found = found.assign(error=noise / np.sqrt(found["size"])).rename(columns={"median": "value", "size": "rounds"})
    return found[["value", "error", "rounds"]].reset_index()

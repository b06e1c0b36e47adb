"""Controls against what they are made from: the difference in shares of the time of the callback that is there today.

That is the unit of every decision. A port by itself may cost so little that a hundredth of it is nothing that anybody
could measure, or would port an op for, and what two callbacks differ by counts by what it is of today's time. Both of a
pair cross the same bridge, or none, so that they have in common what ports shift by against callbacks from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.verdicts import shares_of
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.stats.launch_model import Shares


def shares_of_pairs(found: pd.DataFrame, pairs: Mapping[str, str], today: Mapping[str, str]) -> dict[str, Shares]:
    """Return for each case what it costs more than its original, by launch.

    Args:
        found: `costs.round_costs`.
        pairs: id of a case -> id of its original.
        today: id of a case -> id of the current callback's in its group and direction; without it there is no share.
    """
    known = {**today, **{case: case for case in today.values()}}
    there = {case: known[case] for case in (*pairs, *pairs.values()) if case in known}
    both = costs.ratios(found, there, estimate.UNIT)
    medians = costs.launch_medians(_differences(both, pairs), "ratio", estimate.UNIT)
    levels = both.groupby("case", observed=True)["ratio"].mean()
    # What launches differ by is in proportion to what the two cost, and not to today's time.
    return {
        case: replace(shares, leverage=float(levels[pairs[case]]) ** 2) for case, shares in shares_of(medians).items()
    }


def _differences(ratios: pd.DataFrame, pairs: Mapping[str, str]) -> pd.DataFrame:
    """Return in place of the share of each case 1 and what it is above that of its original in the same round."""
    cases = ratios[ratios["case"].isin(list(pairs))]
    cases = cases.assign(original=cases["case"].map(dict(pairs)).astype(ratios["case"].dtype))
    originals = ratios.rename(columns={"case": "original", "ratio": "of_original"})
    paired = cases.merge(originals, on=["original", *estimate.UNIT, "round"])
    return paired.assign(ratio=1 + paired["ratio"] - paired["of_original"])

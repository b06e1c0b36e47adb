"""Controls against what they are made from: the difference in shares of the time of the callback that is there today.

That is the unit of every decision. A port by itself may cost so little that a hundredth of it is nothing that anybody
could measure, or would port an op for, and what two callbacks differ by counts by what it is of the current time. Both
of a pair cross the same bridge, or none, so that they have in common what ports shift by against callbacks from run to
run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.verdicts import ONE_MACHINE, shares_of
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.stats.launch_model import Shares


def shares_of_pairs(
    found: pd.DataFrame, pairs: Mapping[str, str], today: Mapping[str, str], hosts: Mapping[int, str] = ONE_MACHINE
) -> dict[str, Shares]:
    """Return for each case what it costs more than its original, by launch.

    The difference is taken within each round, and over launches as any cost is, by `costs.ratios`: of costs that vary
    by a lognormal of 0.8 the median of differences finds 8.6 of 10% that a callback is slower by (simulated).

    Args:
        found: `costs.round_costs`.
        pairs: id of a case -> id of its original.
        today: id of a case -> id of the current callback's in its group and direction; without it there is no share.
        hosts: as in `shares_of`.
    """
    known = {**today, **{case: case for case in today.values()}}
    there = {case: original for case, original in pairs.items() if original in known}
    if not there:
        return {}
    units = {case: known[original] for case, original in there.items()}
    differences = pd.concat([_differences(found, there), found[found["case"].isin(list(units.values()))]])
    ratios = costs.ratios(differences, units, estimate.UNIT)
    medians = costs.launch_medians(ratios.assign(ratio=1 + ratios["ratio"]), "ratio", estimate.UNIT)
    originals = costs.ratios(found, {original: known[original] for original in there.values()}, estimate.UNIT)
    levels = originals.groupby("case", observed=True)["ratio"].mean()
    # What launches differ by is in proportion to what the two cost, and not to the current time.
    return {
        case: replace(one, leverage=float(levels[there[case]]) ** 2) for case, one in shares_of(medians, hosts).items()
    }


def _differences(found: pd.DataFrame, pairs: Mapping[str, str]) -> pd.DataFrame:
    """Return what each case costs more than its original in the same round, as `costs.round_costs`."""
    cases = found[found["case"].isin(list(pairs))]
    cases = cases.assign(original=cases["case"].astype(str).map(dict(pairs)))
    originals = found.assign(original=found["case"].astype(str)).drop(columns="case")
    paired = cases.merge(originals, on=["original", *estimate.UNIT, "round"], suffixes=("", "_of_original"))
    more = paired.assign(seconds=paired["seconds"] - paired["seconds_of_original"])
    return more[list(found.columns)]

"""Controls against what they are made from: the difference in shares of the time of the callback that it stands for.

For the control of a callback that is the callback itself, which is today's where it is used. A port is compared in
shares of the current callback's time, as in any decision: by itself it may cost so little that a hundredth of it is
nothing that anybody could measure, or would port an op for. Both of a pair cross the same bridge, or none, so that
they have in common what ports shift by against callbacks from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyopbench.core.model import Case
from pyopbench.judge.verdicts import shares_of
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.stats.launch_model import Shares


def shares_of_pairs(
    found: pd.DataFrame, pairs: Mapping[str, str], today: Mapping[str, str], catalogue: Mapping[str, Any]
) -> dict[str, Shares]:
    """Return for each case what it costs more than its original, by launch.

    Args:
        found: `costs.round_costs`.
        pairs: id of a case -> id of its original.
        today: id of a case -> id of the current callback's in its group and direction; without it a port has no share.
        catalogue: of the run.
    """
    variants = catalogue["variants"]
    of_ports = {
        case: original
        for case, original in pairs.items()
        if variants.get(Case.from_id(original).variant, {}).get("kind") == "port"
    }
    of_callbacks = {case: original for case, original in pairs.items() if case not in of_ports}
    alone = _medians(costs.ratios(found, of_callbacks, estimate.UNIT))
    there = [case for case in (*of_ports, *of_ports.values()) if case in today]
    both = costs.ratios(found, {case: today[case] for case in there}, estimate.UNIT)
    differences = _differences(both, of_ports)
    levels = both.groupby("case", observed=True)["ratio"].mean()
    return {
        **shares_of(alone),
        # What launches differ by is in proportion to what the two cost, and not to today's time.
        **{
            case: replace(shares, leverage=float(levels[of_ports[case]]) ** 2)
            for case, shares in shares_of(_medians(differences)).items()
        },
    }


def _medians(ratios: pd.DataFrame) -> pd.DataFrame:
    return costs.launch_medians(ratios, "ratio", estimate.UNIT)


def _differences(ratios: pd.DataFrame, pairs: Mapping[str, str]) -> pd.DataFrame:
    """Return in place of the share of each case 1 and what it is above that of its original in the same round."""
    cases = ratios[ratios["case"].isin(list(pairs))]
    cases = cases.assign(original=cases["case"].map(dict(pairs)).astype(ratios["case"].dtype))
    originals = ratios.rename(columns={"case": "original", "ratio": "of_original"})
    paired = cases.merge(originals, on=["original", *estimate.UNIT, "round"])
    return paired.assign(ratio=1 + paired["ratio"] - paired["of_original"])

"""Controls against what they are made from: the difference in shares of the time of the callback that is there today.

That is the unit of every decision. A port by itself may cost so little that a hundredth of it is nothing that anybody
could measure, or would port an op for, and what two callbacks differ by counts by what it is of today's time. Both of a
pair cross the same bridge, or none, so that they have in common what ports shift by against callbacks from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from pyopbench.judge.verdicts import shares_of
from pyopbench.stats import costs, estimate

if TYPE_CHECKING:
    from pyopbench.stats.launch_model import Shares


def shares_of_pairs(found: pd.DataFrame, pairs: Mapping[str, str], today: Mapping[str, str]) -> dict[str, Shares]:
    """Return for each case what it costs more than its original, by launch.

    That is the median over rounds of their difference in a round, over the median of what the current callback costs. A
    ratio in each round would be of the rounds alone in which the callback costs more than nothing: on a busy machine
    these are the rounds in which it happened to be dear, and its own copy would come out cheaper.

    Args:
        found: `costs.round_costs`.
        pairs: id of a case -> id of its original.
        today: id of a case -> id of the current callback's in its group and direction; without it there is no share.
    """
    known = {**today, **{case: case for case in today.values()}}
    there = {case: original for case, original in pairs.items() if original in known}
    if not there:
        return {}
    levels = found.groupby(["case", *estimate.UNIT], observed=True)["seconds"].median()
    whole = _at(levels, [known[original] for original in there.values()], list(there))
    medians = costs.launch_medians(_differences(found, there), "seconds", estimate.UNIT)
    medians = medians.merge(whole, on=["case", *estimate.UNIT])
    medians = medians[medians["level"] > 0]
    medians = medians.assign(value=1 + medians["value"] / medians["level"], error=medians["error"] / medians["level"])
    own = _at(levels, list(there.values()), list(there)).merge(
        whole, on=["case", *estimate.UNIT], suffixes=("_own", "")
    )
    shares = (own["level_own"] / own["level"]).groupby(own["case"], observed=True).mean()
    # What launches differ by is in proportion to what the two cost, and not to today's time.
    return {case: replace(one, leverage=float(shares[case]) ** 2) for case, one in shares_of(medians).items()}


def _differences(found: pd.DataFrame, pairs: Mapping[str, str]) -> pd.DataFrame:
    """Return what each case costs more than its original in the same round."""
    cases = found[found["case"].isin(list(pairs))]
    cases = cases.assign(original=cases["case"].astype(str).map(dict(pairs)))
    originals = found.assign(original=found["case"].astype(str)).drop(columns="case")
    paired = cases.merge(originals, on=["original", *estimate.UNIT, "round"], suffixes=("", "_of_original"))
    return paired.assign(seconds=paired["seconds"] - paired["seconds_of_original"])


def _at(levels: pd.Series[float], cases: Sequence[str], names: Sequence[str]) -> pd.DataFrame:
    """Return the levels of some cases by launch under other names, in columns case, those of a launch, level."""
    named = pd.DataFrame({"of": cases, "case": names})
    rows = levels.rename("level").reset_index().rename(columns={"case": "of"})
    rows = rows.assign(of=rows["of"].astype(str))
    return named.merge(rows, on="of").drop(columns="of")

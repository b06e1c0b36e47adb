"""What graphs of k copies of an op show of it: whether each copy costs the same, and what the first costs.

One line, seconds per call = call overhead + copies x seconds per copy, is fitted to each case of mode node in each
launch. Its points are the medians over rounds of seconds per call for each number of copies. With three points or more
it shows whether copies cost the same each; what an op costs is the difference to the
empty function (`costs`).

The first callback of a step finds its threads asleep and costs more than those right after it. What each further one
adds is the difference of the graphs of one copy and of more in the same rounds, over the copies that one has more; the
call, which both have, is in none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pyopbench.stats import costs
from pyopbench.stats.costs import MODE
from pyopbench.stats.estimate import Estimate, Floats, usual_spread

LEAST_POINTS = 3
"""Numbers of copies from which a line says more than the two points that it was drawn through."""
COLUMNS = ["copies", "slope", "intercept"]


def lines(frame: pd.DataFrame, unit: Sequence[str]) -> pd.DataFrame:
    """Fit a line to each case of mode node in each launch.

    The points are weighted by 1 / seconds², because noise is about in proportion to what is timed: every point then
    counts with its relative error.

    Args:
        frame: one row per timed block, in any order, as `measured_run.Run.frame`; rows of other modes are passed over.
        unit: the columns that make one launch.

    Returns:
        Columns case, those of `unit`, copies (tuple of int, ascending), slope (seconds per copy) and intercept
        (seconds per call beyond the copies); sorted by the first ones. Slope and intercept are nan where fewer than
        two numbers of copies were timed.
    """
    keys = ["case", *unit]
    frame = frame[(frame["mode"] == costs.MODE) & (frame["seconds"] > 0)]
    points = frame[[*keys, "copies"]].assign(y=frame["seconds"] / frame["calls"])
    points = points.groupby([*keys, "copies"], observed=True)["y"].median().reset_index()
    x, y = points["copies"].astype(np.float64), points["y"]
    w = y**-2.0
    parts = points[keys].assign(w=w, wx=w * x, wy=w * y, wxx=w * x * x, wxy=w * x * y)
    sums = parts.groupby(keys, observed=True).sum()
    copies = points.groupby(keys, observed=True)["copies"].agg(tuple)
    determinant = sums["w"] * sums["wxx"] - sums["wx"] ** 2
    slope = (sums["w"] * sums["wxy"] - sums["wx"] * sums["wy"]) / determinant.where(copies.map(len) > 1)
    intercept = (sums["wy"] - slope * sums["wx"]) / sums["w"]
    return pd.DataFrame(dict(zip(COLUMNS, (copies, slope, intercept), strict=True))).reset_index()


@dataclass(frozen=True)
class Surcharge:
    """What the first op of a kind in a step costs, and each further one, in seconds; means over launches.

    Attributes:
        first: of the first.
        further: of each further one.
        low, high: the 95% t interval of `further`; nan for one launch.
        first_too_noisy, further_too_noisy: are they (`Estimate.is_too_noisy`), the latter beside the first?
    """

    first: float
    further: float
    low: float
    high: float
    first_too_noisy: bool = False
    further_too_noisy: bool = False


def surcharges(frame: pd.DataFrame, unit: Sequence[str]) -> dict[str, Surcharge]:
    """Return for each case of mode node with a graph of one copy and a larger one what the first and the others cost.

    Few launches tell their spread badly, so that of each case, in shares of what its first costs, is moved towards what
    is usual among all of them.

    Args:
        frame: one row per timed block, in any order, as `measured_run.Run.frame`.
        unit: the columns that make one launch.
    """
    found = {case: (Estimate.of(first), Estimate.of(further)) for case, first, further in _launches(frame, unit)}
    scaled = {
        case: (first.mean, replace(further, scale=first.mean**2) if first.mean > 0 else further)
        for case, (first, further) in found.items()
    }
    usual = usual_spread((one.deviation / one.scale**0.5, one.own_degrees) for _, one in scaled.values())
    made: dict[str, Surcharge] = {}
    for case, (first, further) in scaled.items():
        moved, is_noise = replace(further, usual=usual), found[case][0].is_too_noisy()
        further_is_noise = moved.is_too_noisy(0.0 if is_noise else first)
        made[case] = Surcharge(first, further.mean, *moved.interval(), is_noise, further_is_noise)
    return made


def _launches(frame: pd.DataFrame, unit: Sequence[str]) -> list[tuple[str, Floats, Floats]]:
    """Return for each case, in the order of their ids, what the first costs in each launch, and each further one."""
    nodes = frame[(frame["mode"] == MODE) & frame["floor_seconds"].notna() & (frame["copies"] > 0)]
    nodes = nodes.assign(y=nodes["seconds"] / nodes["calls"])
    keys = ["case", *unit]
    rounds = nodes.groupby([*keys, "round", "copies"], observed=True)[["y", "floor_seconds"]].median().reset_index()
    ones = rounds[rounds["copies"] == 1].drop(columns="copies").rename(columns={"y": "one"})
    most = rounds["copies"].where(rounds["copies"] > 1).groupby([rounds[key] for key in keys], observed=True)
    larger = rounds[rounds["copies"] == most.transform("max")][[*keys, "round", "copies", "y"]]
    both = ones.merge(larger, on=[*keys, "round"])
    both = both.assign(
        first=both["one"] - both["floor_seconds"], further=(both["y"] - both["one"]) / (both["copies"] - 1)
    )
    medians = both.groupby(keys, observed=True)[["first", "further"]].median().reset_index()
    first, further = (medians[column].to_numpy(dtype=np.float64) for column in ("first", "further"))
    of_case = medians.groupby("case", observed=True).indices
    return [(str(case), first[places], further[places]) for case, places in sorted(of_case.items())]

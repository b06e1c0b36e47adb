"""Straight lines over graphs of copies: seconds per call = call overhead + copies x seconds per copy.

One line is fitted to each case of mode node in each launch. Its points are the medians over rounds of seconds per call
for each number of copies; its slope is the number that the launch gives for the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

MODE = "node"
COLUMNS = ["copies", "slope", "intercept"]


def lines(frame: pd.DataFrame, unit: Sequence[str]) -> pd.DataFrame:
    """Fit a line to each case of mode node in each launch.

    The points are weighted by 1 / seconds², because noise is about in proportion to what is timed: every point then
    counts with its relative error.

    Args:
        frame: one row per timed block, in any order, as `results.Run.frame`; rows of other modes are passed over.
        unit: the columns that make one launch.

    Returns:
        Columns case, those of `unit`, copies (tuple of int, ascending), slope (seconds per copy) and intercept
        (seconds per call beyond the copies); sorted by the first ones. Slope and intercept are nan where fewer than
        two numbers of copies were timed.
    """
    keys = ["case", *unit]
    frame = frame[(frame["mode"] == MODE) & (frame["seconds"] > 0)]
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


def slope_logs(frame: pd.DataFrame, unit: Sequence[str]) -> pd.DataFrame:
    """Return the log of seconds per copy for each case and launch whose slope is above zero.

    Returns:
        Columns case, those of `unit`, and value; sorted by the first ones.
    """
    found = lines(frame, unit)
    found = found[found["slope"] > 0].reset_index(drop=True)
    return found[["case", *unit]].assign(value=np.log(found["slope"].astype(np.float64)))


@dataclass(frozen=True)
class Flat:
    """In how many launches, of those that a case has, the slope is not above zero."""

    flat: int
    launches: int


def without_slope(frame: pd.DataFrame, unit: Sequence[str]) -> dict[str, Flat]:
    """Return for each case that has launches without a slope above zero how many these are."""
    found = lines(frame, unit)
    flat = (~(found["slope"] > 0)).groupby(found["case"]).agg(["sum", "size"])
    return {str(case): Flat(int(lost), int(launches)) for case, lost, launches in flat.itertuples() if lost}

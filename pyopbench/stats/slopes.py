"""Straight lines over graphs of copies: seconds per call = call overhead + copies x seconds per copy.

One line is fitted to each case of mode node in each launch. Its points are the medians over rounds of seconds per call
for each number of copies. With three points or more it shows whether copies cost the same each (`run --linearity`);
what an op costs is the difference to the empty function (`costs`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pyopbench.stats import costs

LEAST_POINTS = 3
"""Numbers of copies from which a line says more than the two points that it was drawn through."""
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

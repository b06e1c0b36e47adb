"""Logarithmic axes: what of the data can be shown on one, where it ends, and where its ticks are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]

WIDEST_SHOWN = 2.0
"""How far an interval can push the end of an axis out, as a factor on the value: beyond, it runs out of the picture,
because one interval from two launches would otherwise flatten everything else."""
MARGIN = 0.05  # of the length of the axis, so that no mark sits on the frame
LEAST_MARGIN = 1.02
MOST_TICKS = 6  # what a panel of 200 pixels has room for
TICK_STEPS = (
    tuple(step / 20 for step in range(20, 200)),
    tuple(step / 5 for step in range(5, 50)),
    (1, 1.5, 2, 3, 4, 5, 6, 8),
    (1, 2, 5),
    (1, 3),
    (1,),
)
"""Steps within a decade, the densest first."""


def drawable(rows: Iterable[Row], value: str) -> list[dict[str, Any]]:
    """Return the rows that have a value, with five significant digits; an end that a log axis cannot show is None."""
    rounded = [{**row, **{field: _five_digits(row[field]) for field in (value, "low", "high")}} for row in rows]
    return [row for row in rounded if row[value] is not None]


def limits(rows: Iterable[Row], value: str) -> list[float]:
    """Return the ends of the axis: every value, and its interval up to `WIDEST_SHOWN`."""
    ends = [end for row in rows for end in _shown_ends(row[value], row["low"], row["high"])]
    low, high = (min(ends), max(ends)) if ends else (1.0, 1.0)
    margin = (high / low) ** MARGIN * LEAST_MARGIN
    return [float(f"{low / margin:.4g}"), float(f"{high * margin:.4g}")]


def ticks(ends: Sequence[float]) -> list[float]:
    """Return the densest round values between the ends that a small panel has room for; the ends if there is none."""
    decades = range(math.floor(math.log10(ends[0])), math.ceil(math.log10(ends[1])) + 1)
    found: list[float] = []
    for steps in TICK_STEPS:
        candidates = [float(f"{step}e{decade}") for decade in decades for step in steps]
        found = [tick for tick in candidates if ends[0] <= tick <= ends[1]]
        if len(found) <= MOST_TICKS:
            break
    return found or list(ends)


def _five_digits(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) and value > 0 else None


def _shown_ends(middle: float, low: float | None, high: float | None) -> tuple[float, float]:
    return max(low or middle, middle / WIDEST_SHOWN), min(high or middle, middle * WIDEST_SHOWN)

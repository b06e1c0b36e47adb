"""Mean and standard deviation of a handful of values: tens of thousands are asked for, which takes NumPy far longer."""

from __future__ import annotations

import math
from collections.abc import Sequence


def mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation of some values, in any order.

    Returns:
        nan for both if there is no value, or one that is no finite number; nan for the deviation of one.
    """
    n = len(values)
    if not n or not all(map(math.isfinite, values)):
        return math.nan, math.nan
    ordered = sorted(values)
    mean = _sum(ordered) / n
    if n < 2:
        return mean, math.nan
    return mean, math.sqrt(_sum([(one - mean) * (one - mean) for one in ordered]) / (n - 1))


def _sum(values: Sequence[float]) -> float:
    """Return the sum of at least one value, rounded as NumPy's is, in every version of Python."""
    rest = 0.0
    for one in values[1:]:
        rest += one
    return values[0] + rest

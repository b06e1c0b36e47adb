"""Where a pipeline's warm-up ends, found in what it has done and not guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

LONGEST_SHARE = 0.5
"""Of the chunks: if more would be left out, there is no steady part to speak of, and more chunks have to be seen."""
DRIFT = 0.25
"""What the last third of the chunks may take more or less than the first, by their medians: more is no noise but a
change that still goes on. The rule below takes a change near the end for noise."""


def warm_up_of(seconds: Sequence[float]) -> int | None:
    """Return how many of the first chunks belong to the warm-up; None if it has not ended in what was seen.

    The marginal standard error rule: left out is what makes the mean of the rest best known, with its variance over its
    count as the measure, among all that leave half of the chunks. Outliers of the machine are capped at three times the
    median first, or one of them late in the series would make all before it the warm-up.

    Source: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
    (1997) 323-334; the bound of one half is of K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five
    steady-state truncation heuristics for simulation", Proc. Winter Simulation Conference (2000) 755-760.

    Args:
        seconds: that chunks of as many elements took, in order.
    """
    series = np.asarray(seconds, dtype=np.float64)
    most = int(LONGEST_SHARE * series.size)
    if most < 2:
        return None
    series = np.minimum(series, 3 * np.median(series))
    left_out = int(np.argmin([_error(series[count:]) for count in range(most + 1)]))
    return None if left_out == most or _drifts(series[left_out:]) else left_out


def _error(rest: Any) -> float:
    """Return the square of the marginal standard error of what is kept."""
    return float(np.sum((rest - rest.mean()) ** 2) / rest.size**2)


def _drifts(kept: Any) -> bool:
    third = max(kept.size // 3, 1)
    first, last = np.median(kept[:third]), np.median(kept[-third:])
    return bool(abs(last - first) > DRIFT * first)

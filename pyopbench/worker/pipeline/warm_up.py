"""Where a pipeline's warm-up ends, found in what it has done and not guessed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LONGEST_SHARE = 0.5
"""Of the chunks: if more would be left out, there is no steady part to speak of, and more chunks have to be seen."""


def warm_up_of(seconds: Sequence[float]) -> int | None:
    """Return how many of the first chunks belong to the warm-up; None if it has not ended in what was seen.

    The marginal standard error rule: left out is what makes the mean of the rest best known, with its variance over its
    count as the measure. Outliers of the machine are capped at three times the median first, or one of them late in the
    series would make all before it the warm-up.

    Source: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69
    (1997) 323-334; the bound of one half is of K. P. White, M. J. Cobb and S. C. Spratt, "A comparison of five
    steady-state truncation heuristics for simulation", Proc. Winter Simulation Conference (2000) 755-760.

    Args:
        seconds: that chunks of as many elements took, in order.
    """
    series = np.asarray(seconds, dtype=np.float64)
    if series.size < 2:
        return None
    series = np.minimum(series, 3 * np.median(series))
    errors = [
        float(np.sum((rest - rest.mean()) ** 2)) / rest.size**2 for rest in (series[n:] for n in range(series.size - 1))
    ]
    # Of ties the first: nothing is left out for nothing.
    left_out = int(np.argmin(np.round(np.asarray(errors) / max(np.median(series) ** 2, 1e-30), 9)))
    return left_out if left_out <= LONGEST_SHARE * series.size else None

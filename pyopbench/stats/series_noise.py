"""The differences between the points of a series while its level does not change.

Neighbours differ by their errors, except for the few between which the level changes. So the median difference of
neighbours shows the noise, whatever the levels are (J. Rice, Ann. Statist. 12 (1984) 1215-1230). Autocorrelated noise
makes neighbours alike; if points may have it, differences are taken over `LAG` points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from pyopbench.stats.estimate import Floats

Noise: TypeAlias = Literal["independent", "autocorrelated"]

FEWEST_POINTS = 5
"""Fewer points have no change: one of four may be off, and nothing shows what their noise is."""
NORMAL_QUARTILE = 0.6744897501960817
"""The median of the absolute value of a standard normal number."""
WINDOW = 7
"""Points of a running median; a level of four points or more survives it."""
FARTHEST = 3.0
"""A point further from its running median than so many standard errors is moved to there: it alone is no level."""
LAG = 3
"""With an autocorrelation of 0.5, differences over three points show 94% of the noise, those of neighbours 71%."""
MANY_POINTS = 20
"""From this number on, runs that were not interleaved are judged by how much they differ from one another."""
QUANTILES = (0.5, 0.75)
"""Quantiles of differences: the noise is the larger of the two estimates. For a machine that switches between two
speeds and usually has the same one three points later, the median alone would give hardly any noise."""
NORMAL_QUANTILES = (NORMAL_QUARTILE, 1.1503493803760079)
"""The same quantiles of the absolute value of a standard normal number."""
SMALLEST_ERROR = 1e-4
"""A hundredth of a percent: no clock is more precise for a call, and points are weighted by one over its square."""
FEWEST_DIFFERENCES = 10
"""Fewer differences do not show their usual size."""


def clipped(values: Floats, errors: Floats) -> Floats:
    """Return series in which no point is further from its running median than `FARTHEST` standard errors.

    Args:
        values: `(..., n)` float64.
        errors: `(n,)` or `(..., n)` float64.

    Returns:
        `(..., n)` float64.
    """
    n = values.shape[-1]
    window = min(WINDOW, n - 1 + n % 2)
    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, window, axis=-1), axis=-1)
    middle = medians[..., np.clip(np.arange(n) - window // 2, 0, n - window)]
    found: Floats = middle + np.clip(values - middle, -FARTHEST * errors, FARTHEST * errors)
    return found


def excess(values: Floats, errors: Floats, noise: Noise) -> Floats:
    """Return the factor for errors at which they explain the differences of neighbours, at least 1.

    Args:
        values: `(..., n)` float64.
        errors: `(n,)` or `(..., n)` float64.
        noise: as in `change_points.segment`.

    Returns:
        `(...,)` float64; 1 for series that are too short to tell.
    """
    if values.shape[-1] < FEWEST_POINTS:
        return np.ones(values.shape[:-1])
    return np.maximum(scale(values, errors, noise), 1.0)


def scale(values: Floats, errors: Floats, noise: Noise) -> Floats:
    """Return the standard deviation of the noise of series as a multiple of their errors, `(...,)` float64."""
    lag = LAG if noise == "autocorrelated" and values.shape[-1] >= MANY_POINTS else 1
    differences = _differences(values, errors, lag)
    if noise == "independent":
        found: Floats = np.median(differences, axis=-1) / NORMAL_QUARTILE
        return found
    return larger_estimate(differences)


def scale_within(values: Floats, errors: Floats, places: Sequence[int] = ()) -> float:
    """Return the standard deviation of the noise of a series as a multiple of its errors, apart from its changes.

    Args:
        values: `(n,)` float64, of at least `MANY_POINTS` points.
        errors: `(n,)` float64.
        places: of changes; differences across one do not count, unless hardly any others are left.
    """
    starts = np.arange(values.size - LAG)
    inside = np.ones(starts.size, dtype=bool)
    for place in places:
        inside &= (starts + LAG < place) | (starts >= place)
    differences = _differences(values, errors, LAG)
    return float(larger_estimate(differences[inside] if inside.sum() >= FEWEST_DIFFERENCES else differences))


def _differences(values: Floats, errors: Floats, lag: int) -> Floats:
    """Return the differences of points that are `lag` apart, in standard errors."""
    wide = np.sqrt(errors[..., lag:] ** 2 + errors[..., :-lag] ** 2)
    found: Floats = np.abs(values[..., lag:] - values[..., :-lag]) / wide
    return found


def larger_estimate(differences: Floats) -> Floats:
    """Return the larger estimate of a standard deviation from two quantiles along the last axis."""
    middle, upper = np.quantile(differences, QUANTILES, axis=-1)
    larger: Floats = np.maximum(middle / NORMAL_QUANTILES[0], upper / NORMAL_QUANTILES[1])
    return larger


def between_runs(values: Floats, errors: Floats, assumed: float) -> float:
    """Return the standard deviation between separate runs, beyond their errors, for points that are one run each.

    Args:
        values: `(n,)` float64.
        errors: `(n,)` float64; 0 if nothing is known.
        assumed: the least value with fewer than `MANY_POINTS` runs, which show too little; they may show a larger one.
    """
    # Against errors of 1, the scale is the standard deviation itself.
    shown = float(scale(values, np.ones(values.shape), "autocorrelated")) if values.size > 1 else 0.0
    beyond = math.sqrt(max(shown**2 - float(np.median(errors**2)), 0.0))
    return beyond if values.size >= MANY_POINTS else max(beyond, assumed)

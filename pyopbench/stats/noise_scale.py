"""What a series says of its own noise: how far it exceeds the known errors, and which points are off all alone.

Neighbours differ by their errors, but for the few between which the level changes. So the median of the differences of
neighbours shows the noise whatever the levels are (differences: J. Rice, Ann. Statist. 12 (1984) 1215-1230). Noise that
lasts makes neighbours alike; where points may have it, differences are taken over `LAG` points.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.stats.change_thresholds import FEWEST_POINTS, Noise

Floats: TypeAlias = npt.NDArray[np.float64]

NORMAL_QUARTILE = 0.6744897501960817
"""The median of the absolute value of a standard normal number."""
WINDOW = 7
"""Points of a running median; a level of four points or more survives it."""
FARTHEST = 3.0
"""A point counts for no further from its running median than so many standard errors: one alone is no level."""
LAG = 3
"""Noise with an autocorrelation of 0.5 is 94% of its size in differences over three points, and 71% in neighbours'."""
MANY_POINTS = 20
"""From so many on, runs that were not interleaved are judged by what they differ by themselves."""


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
    """Return what errors have to be multiplied with so that they explain what neighbours differ by, at least 1.

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
    wide = np.sqrt(errors[..., lag:] ** 2 + errors[..., :-lag] ** 2)
    found: Floats = np.median(np.abs(values[..., lag:] - values[..., :-lag]) / wide, axis=-1) / NORMAL_QUARTILE
    return found


def between_runs(values: Floats, errors: Floats, assumed: float) -> float:
    """Return what runs differ by beyond their errors, one standard deviation, for points that are runs of their own.

    Args:
        values: `(n,)` float64.
        errors: `(n,)` float64; 0 where nothing is known.
        assumed: what it is taken for where fewer than `MANY_POINTS` runs cannot tell; they may tell that it is more.
    """
    # Against errors of 1, the scale is the standard deviation itself.
    shown = float(scale(values, np.ones(values.shape), "autocorrelated")) if values.size > 1 else 0.0
    beyond = math.sqrt(max(shown**2 - float(np.median(errors**2)), 0.0))
    return beyond if values.size >= MANY_POINTS else max(beyond, assumed)

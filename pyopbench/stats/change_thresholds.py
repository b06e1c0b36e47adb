"""How large the statistic of `change_points` gets in series without a change: its thresholds."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np

Noise: TypeAlias = Literal["independent", "autocorrelated"]
ALARM_RATES = (0.05, 0.01, 0.001)
ALARM_RATE = 0.01
FEWEST_POINTS = 5
"""Fewer points have no change: one of four may be off, and nothing shows what their noise is."""
LENGTHS = (5, 6, 8, 10, 12, 15, 19, 20, 25, 30, 40, 50, 70, 100, 150, 200, 300, 500, 1000)
# fmt: off
THRESHOLDS: dict[Noise, dict[float, tuple[float, ...]]] = {
    "independent": {
        0.05: (
            2.10, 2.41, 2.87, 2.90, 3.03, 3.15, 3.27, 3.27, 3.38, 3.43, 3.53, 3.67, 3.76, 3.87, 4.01, 4.14, 4.24,
            4.43, 4.66,
        ),
        0.01: (
            2.77, 2.97, 3.18, 3.24, 3.45, 3.53, 3.68, 3.65, 3.78, 3.84, 3.96, 4.10, 4.27, 4.35, 4.45, 4.67, 4.79,
            4.94, 5.24,
        ),
        0.001: (
            3.18, 3.34, 3.64, 3.72, 4.13, 4.09, 4.31, 4.23, 4.42, 4.44, 4.79, 4.87, 5.12, 4.91, 5.12, 5.42, 5.63,
            5.45, 6.12,
        ),
    },
    "autocorrelated": {
        0.05: (
            2.18, 2.46, 2.92, 3.23, 3.51, 3.80, 4.08, 4.95, 5.15, 5.36, 5.60, 5.81, 6.14, 6.29, 6.61, 6.74, 6.91,
            7.22, 7.52,
        ),
        0.01: (
            2.77, 3.10, 3.54, 3.89, 4.30, 4.56, 4.85, 6.47, 6.54, 6.83, 6.93, 6.96, 7.31, 7.31, 7.71, 7.56, 7.70,
            8.04, 8.32,
        ),
        0.001: (
            3.46, 3.85, 4.12, 4.36, 4.91, 5.35, 5.84, 9.35, 9.73, 8.76, 8.68, 8.63, 8.57, 8.96, 8.84, 8.95, 8.40,
            8.93, 9.29,
        ),
    },
}
# fmt: on
"""Noise -> alarm rate -> threshold for each of `LENGTHS`, by `scripts/change_thresholds.py`: of noise that is normal
or has the tails of Student's t with 3 degrees of freedom, whichever needs more; and, where points may depend on each
other, of normal noise with an autocorrelation of 0.5 too."""


def threshold(n: int, noise: Noise, alarm_rate: float) -> float:
    """Return what the statistic of a series of `n` points without a change exceeds as often as `alarm_rate`."""
    if n < FEWEST_POINTS:
        return math.inf
    return float(np.interp(math.log(n), np.log(LENGTHS), THRESHOLDS[noise][alarm_rate]))

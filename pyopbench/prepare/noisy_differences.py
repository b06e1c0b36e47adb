"""Differences of a body that is itself only good to some digits: its noise is estimated, and the step taken from it.

A bisection that stops at 1e-7 gives values that jump by as much. Differences over 1e-5 then are off by a hundredth,
whatever its gradient. They are taken over a longer way here, as far apart as noise and curvature together do the least
harm, and the gradient may be off by no more than these two may make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

POINTS = 9
"""Values along a line from which noise is told: Moré and Wild use 6 to 8 differences."""

ALIKE = 4.0
"""Estimates from three successive orders of differences that are within this factor of each other are of noise."""

SPACINGS = (1 / 64, 1 / 8, 1.0)
"""Distances of these values, in steps of the usual differences: noise that these suffer from shows at one of them."""

NOISES = 3.0
"""Standard deviations of noise that a difference may be off by, over its half step: more than the largest that rounding
to a grid does, and than the largest of some hundred that are normal."""

COARSER = 4.0
LADDER = 6
"""Each step that is tried is this many times the one before, and how many are tried."""

LOOKED_AT = 4
"""Lines from which noise and step are told, those with the largest errors."""

LARGEST_TOLERANCE = {"float32": 2e-2, "float64": 5e-3}
"""Beyond these a gradient that is a little wrong would be taken for right: then noise is no excuse."""


@dataclass(frozen=True)
class Line:
    """A function along a line through its inputs.

    Attributes:
        at: its value at a number of reaches from where the gradient is checked.
        slope: what the gradient says that it is.
        error: how far the usual difference is from that.
        reach: what one reach is; above 1 for an element that is, so that a step moves it.
    """

    at: Callable[[float], float]
    slope: float
    error: float
    reach: float = 1.0

    def difference(self, step: float) -> float:
        """Return the central difference over a number of reaches."""
        return (self.at(step) - self.at(-step)) / (2 * step * self.reach)


def noise_of(values: Sequence[float]) -> float | None:
    """Return the standard deviation of the noise in values at equal distances; None where they show none.

    Differences of a smooth function get smaller with each order, those of noise do not. Moré and Wild, "Estimating
    computational noise", SIAM Journal on Scientific Computing 33 (2011), 1292-1314, algorithm ECnoise.
    """
    differences = np.asarray(values, np.float64)
    levels, change_sign, factor = [], [], 1.0
    for order in range(1, len(differences)):
        differences = np.diff(differences)
        if order == 1 and np.count_nonzero(differences == 0) >= len(differences) / 2:
            return None  # too near to each other
        factor *= order / (2 * (2 * order - 1))  # (k!)^2 / (2k)!: what the variance of such a difference is, inverted
        levels.append(float(np.sqrt(factor * np.mean(differences**2))))
        change_sign.append(bool(differences.min() < 0 < differences.max()))
    for begin in range(len(levels) - 2):
        few = levels[begin : begin + 3]
        if change_sign[begin] and max(few) <= ALIKE * min(few):
            return levels[begin]
    return None


def error_beside_noise(lines: Sequence[Line], scale: float, step: float, dtype: str, tolerance: float) -> float | None:
    """Return the largest error of a gradient along lines, if it is right for all that the body's noise lets one see.

    Args:
        lines: along which the usual differences say that it is wrong.
        scale: what errors are relative to: the largest magnitude of the gradient.
        step: half the distance of the usual differences.
        dtype: of the input.
        tolerance: of the usual differences.

    Returns:
        The error, relative; None where noise does not explain what the usual differences say, or hides too much.
    """
    worst = sorted(lines, key=lambda line: -line.error)[:LOOKED_AT]
    noise = max((found for line in worst if (found := _noise_along(line, step)) is not None), default=None)
    if noise is None or NOISES * noise / (step * min(line.reach for line in worst)) <= tolerance * scale:
        return None
    best, bound = min((_bounded(worst, step * COARSER**rung, noise) for rung in range(LADDER)), key=lambda one: one[1])
    if not bound <= LARGEST_TOLERANCE[dtype] * scale:
        return None
    error = max(abs(line.difference(best) - line.slope) for line in lines)
    return error / scale if error <= bound else None


def _noise_along(line: Line, step: float) -> float | None:
    for spacing in SPACINGS:
        places = (np.arange(POINTS) - POINTS // 2) * spacing * step
        found = noise_of([line.at(float(place)) for place in places])
        if found is not None:
            return found
    return None


def _bounded(lines: Sequence[Line], step: float, noise: float) -> tuple[float, float]:
    """Return a step, and what differences over it may be off by: for noise, and for curvature.

    That of curvature grows with the square of the step: a difference over a longer one differs by as many times it.
    """
    curved = max(abs(line.difference(COARSER * step) - line.difference(step)) for line in lines)
    return step, NOISES * noise / (step * min(line.reach for line in lines)) + curved / (COARSER**2 - 1)


def line_through(
    scalar: Callable[..., float], inputs: Sequence[Any], position: int, unit: Any
) -> Callable[[float], float]:
    """Return a function of arrays along a line.

    Args:
        scalar: of arrays.
        inputs: the arrays at 0.
        position: the input that is moved.
        unit: by how much per reach, of the shape of that input; float64.
    """

    def at(distance: float) -> float:
        moved = list(inputs)
        x = inputs[position]
        moved[position] = (x + distance * unit).astype(x.dtype)
        return scalar(*moved)

    return at

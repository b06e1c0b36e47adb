"""Differences for elements of a gradient that central ones say are off, though they need not be.

A function may be steep, so that less than a usual step tells its slope; or there is a kink or a jump within the step,
as beside a maximum or a change of order, and its slope is that to one side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench.prepare.checks import DIFFERENCE_STEP, DIFFERENCE_TOLERANCE, central_differences
from pyopbench.prepare.directional_differences import FINER, ROUNDINGS, ScalarFunction, value_at

ONE_SIDED = (1.0, 0.25)
"""Parts of a usual step that are gone to one side."""


def error_by_shorter_steps(got: Any, expected: Any, function: ScalarFunction) -> float | None:
    """Return the error of the elements that are off by differences over shorter steps.

    Args:
        got: the gradient.
        expected: the differences over a usual step.
        function: what both are of.

    Returns:
        The largest error, relative to the largest element; None where they are off still, or lost in rounding.
    """
    off, scale = _off(got, expected)
    if off is None:
        return None
    dtype = str(expected.dtype.name)
    tolerance = DIFFERENCE_TOLERANCE[dtype] * scale
    x = function.inputs[function.position]
    rounding = ROUNDINGS * float(np.finfo(dtype).eps) * abs(value_at(function, x))
    for part in FINER:
        step, places = part * DIFFERENCE_STEP[dtype], list(map(tuple, np.argwhere(off)))
        finer = central_differences(function.scalar, function.inputs, function.position, step, places)
        error = float(np.abs(np.where(off, got - finer, 0)).max())
        if rounding / step <= tolerance and error <= tolerance:
            return error / scale
    return None


def error_to_one_side(got: Any, expected: Any, function: ScalarFunction) -> float | None:
    """Return the error of the elements that are off by the slope to the side where it is less.

    Args:
        got: the gradient.
        expected: the differences over a usual step.
        function: what both are of.

    Returns:
        The largest error, relative to the largest element; None where an element is off on both sides.
    """
    off, scale = _off(got, expected)
    if off is None:
        return None
    dtype = str(expected.dtype.name)
    worst = 0.0
    for index in map(tuple, np.argwhere(off)):
        steps = [sign * part * DIFFERENCE_STEP[dtype] for part in ONE_SIDED for sign in (1.0, -1.0)]
        errors = [abs(_slope(function, index, step) - float(got[index])) for step in steps]
        error = min((one for one in errors if np.isfinite(one)), default=np.inf)
        if not error <= DIFFERENCE_TOLERANCE[dtype] * scale:
            return None
        worst = max(worst, error)
    return worst / scale


def _off(got: Any, expected: Any) -> tuple[Any, float]:
    """Return which elements are off, and the largest magnitude; None where there is nothing to compare."""
    if got.shape != expected.shape or got.dtype != expected.dtype or not np.isfinite(got).all():
        return None, 0.0
    scale = float(np.abs(got).max())
    with np.errstate(invalid="ignore"):
        off = ~(np.abs(got - expected) <= DIFFERENCE_TOLERANCE[str(expected.dtype.name)] * scale)
    return (off, scale) if scale else (None, 0.0)


def _slope(function: ScalarFunction, index: tuple[int, ...], step: float) -> float:
    """Return the slope at an element of the parabola through it and two points to one side."""
    x = function.inputs[function.position]
    points, values = [], []
    for times in (0, 1, 2):
        moved = np.array(x)
        moved[index] += times * step * max(1.0, abs(float(x[index])))
        points.append(float(moved[index]))
        values.append(value_at(function, moved))
    first, second = points[1] - points[0], points[2] - points[0]
    near, far = (values[1] - values[0]) / first, (values[2] - values[0]) / second
    return (near * second - far * first) / (second - first)

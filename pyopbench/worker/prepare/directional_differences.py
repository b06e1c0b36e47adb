"""Gradients of large inputs against central differences along a few directions: two calls each, whatever the size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.model.errors import WrongResult
from pyopbench.worker.prepare.checks import DIFFERENCE_STEP, DIFFERENCE_TOLERANCE
from pyopbench.worker.prepare.noisy_differences import Judged, Line, judge, line_through

DIRECTIONS = 4
"""Directions that a gradient is looked at along: the first moves every element, the others a random part."""

ELEMENTS = 512
"""Elements that the other directions move: few enough for an error in half of them to stand out."""

ROUNDINGS = 8.0
"""Roundings of the function's value that a difference may be off by, beside what is relative to the slope."""


@dataclass(frozen=True)
class ScalarFunction:
    """A scalar function of arrays, the point at which its gradient is checked, and which input to move.

    `scalar` takes arrays and returns a float, `inputs` are the arrays there.
    """

    scalar: Callable[..., float]
    inputs: Sequence[Any]
    position: int


def require_slope(what: str, got: Any, function: ScalarFunction) -> Judged:
    """Check a gradient against central differences along directions.

    Each direction goes along the sign of the gradient, so that its elements add up and do not cancel, and somewhere
    where the gradient is 0. What a difference differs by from the sum over the gradient is taken relative to the sum
    of magnitudes.

    Args:
        what: names the gradient in the error.
        got: the gradient, of the shape and dtype of the input; None is none.
        function: what it is the gradient of.

    Returns:
        The largest error, and how uncertain differences are where they cannot tell.

    Raises:
        WrongResult: it is None, or of another shape or dtype, or a slope differs.
    """
    x = function.inputs[function.position]
    if got is None:
        raise WrongResult(f"{what} is None: TensorFlow found no gradient for it")
    gradient = np.asarray(got)
    if (gradient.shape, gradient.dtype) != (x.shape, x.dtype):
        raise WrongResult(f"{what}: expected {x.dtype} {x.shape}, got {gradient.dtype} {gradient.shape}")
    rng = np.random.default_rng([x.size, function.position])
    found = [_judged_along(what, gradient, function, _direction(gradient, rng, part)) for part in range(DIRECTIONS)]
    return Judged(max(one.error for one in found), max(one.uncertainty for one in found))


def _direction(gradient: Any, rng: np.random.Generator, part: int) -> Any:
    sign = np.where(gradient == 0, rng.choice([-1.0, 1.0], gradient.shape) if part else 1.0, np.sign(gradient))
    moved = np.ones(gradient.size, bool)
    if part:
        moved[:] = False
        moved[rng.choice(gradient.size, ELEMENTS, replace=False)] = True
    return sign * rng.uniform(0.5, 1.5, gradient.shape) * moved.reshape(gradient.shape)


@dataclass(frozen=True)
class _Along:
    """What a function does along a direction, and what its gradient says.

    Attributes:
        change: by how much the function changes.
        told: by how much the gradient says that it does.
        scale: the sum of the magnitudes of what that is made of.
        rounding: what the change may be off by through rounding.
    """

    change: float
    told: float
    scale: float
    rounding: float

    @property
    def error(self) -> float:
        return abs(self.change - self.told)

    def is_right(self, tolerance: float) -> bool:
        return self.error <= tolerance * self.scale + self.rounding


def _along(gradient: Any, function: ScalarFunction, reach: Any) -> _Along:
    x = function.inputs[function.position]
    above, below = (x + reach).astype(x.dtype), (x - reach).astype(x.dtype)
    values = [_value_at(function, moved) for moved in (above, below)]
    # The distance that the dtype could really represent, not the one asked for.
    steps = gradient.astype(np.float64) * (above.astype(np.float64) - below.astype(np.float64))
    rounding = ROUNDINGS * float(np.finfo(x.dtype).eps) * max(map(abs, values))
    scale = float(np.abs(steps).sum()) or float(np.abs(reach).sum())
    return _Along(values[0] - values[1], float(steps.sum()), scale, rounding)


def _judged_along(what: str, gradient: Any, function: ScalarFunction, direction: Any) -> Judged:
    x = function.inputs[function.position]
    dtype = str(x.dtype.name)
    step, tolerance = DIFFERENCE_STEP[dtype], DIFFERENCE_TOLERANCE[dtype]
    unit = np.maximum(1.0, np.abs(x.astype(np.float64))) * direction
    found = _along(gradient, function, step * unit)
    if found.is_right(tolerance):
        return Judged(max(0.0, found.error - found.rounding) / found.scale)
    slopes = gradient.astype(np.float64) * unit
    along = line_through(function.scalar, function.inputs, function.position, unit)
    line = Line(along, float(slopes.sum()), found.error / (2 * step))
    # Of a gradient that is 0 everywhere, what the function does instead.
    scale = float(np.abs(slopes).sum()) or abs(found.change) / (2 * step)
    judged = judge([line], scale, step, dtype, tolerance)
    if judged is None:
        raise WrongResult(
            f"{what}: along one direction the function changes by {found.change:.6g}, but the gradient says "
            f"{found.told:.6g} (relative error {found.error / found.scale:.2g}, tolerance {tolerance:.2g})"
        )
    return judged


def _value_at(function: ScalarFunction, moved: Any) -> float:
    """Return the function with another array in the place of the input that is moved."""
    inputs = list(function.inputs)
    inputs[function.position] = moved
    return function.scalar(*inputs)

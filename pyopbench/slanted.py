"""Gradients of large inputs against finite differences along a few directions: two calls each, whatever the size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.checks import DIFFERENCE_STEP, DIFFERENCE_TOLERANCE
from pyopbench.errors import WrongResult

DIRECTIONS = 4
"""Directions that a gradient is looked at along: the first moves every element, the others a random part."""

ELEMENTS = 512
"""Elements that the other directions move: few enough for an error in half of them to stand out."""

ROUNDINGS = 8.0
"""Roundings of the function's value that a difference may be off by, beside what is relative to the slope."""


@dataclass(frozen=True)
class Slopes:
    """A function of arrays, the point at which its gradient is looked at, and the input to move.

    `scalar` takes arrays and returns a float, `inputs` are the arrays there.
    """

    scalar: Callable[..., float]
    inputs: Sequence[Any]
    position: int


def require_slope(what: str, got: Any, slopes: Slopes) -> float:
    """Check a gradient against central differences along directions.

    Each direction goes along the sign of the gradient, so that its elements add up and do not cancel, and somewhere
    where the gradient is 0. What a difference differs by from the sum over the gradient is taken relative to the sum
    of magnitudes.

    Args:
        what: names the gradient in the error.
        got: the gradient, of the shape and dtype of the input; None is none.
        slopes: what it is the gradient of.

    Returns:
        The largest error.

    Raises:
        WrongResult: it is None, or of another shape or dtype, or a slope differs.
    """
    x = slopes.inputs[slopes.position]
    if got is None:
        raise WrongResult(f"{what} is None: TensorFlow found no path for it")
    gradient = np.asarray(got)
    if (gradient.shape, gradient.dtype) != (x.shape, x.dtype):
        raise WrongResult(f"{what}: expected {x.dtype} {x.shape}, got {gradient.dtype} {gradient.shape}")
    rng = np.random.default_rng([x.size, slopes.position])
    errors = [_error_along(what, gradient, slopes, _direction(gradient, rng, part)) for part in range(DIRECTIONS)]
    return max(errors)


def _direction(gradient: Any, rng: np.random.Generator, part: int) -> Any:
    sign = np.where(gradient == 0, rng.choice([-1.0, 1.0], gradient.shape) if part else 1.0, np.sign(gradient))
    moved = np.ones(gradient.size, bool)
    if part:
        moved[:] = False
        moved[rng.choice(gradient.size, ELEMENTS, replace=False)] = True
    return sign * rng.uniform(0.5, 1.5, gradient.shape) * moved.reshape(gradient.shape)


def _error_along(what: str, gradient: Any, slopes: Slopes, direction: Any) -> float:
    x = slopes.inputs[slopes.position]
    dtype = str(x.dtype.name)
    reach = DIFFERENCE_STEP[dtype] * np.maximum(1.0, np.abs(x.astype(np.float64))) * direction
    above, below = (x + reach).astype(x.dtype), (x - reach).astype(x.dtype)
    values = [_at(slopes, moved) for moved in (above, below)]
    # The distance that the dtype could really represent, not the one asked for.
    steps = gradient.astype(np.float64) * (above.astype(np.float64) - below.astype(np.float64))
    rounding = ROUNDINGS * float(np.finfo(x.dtype).eps) * max(map(abs, values))
    scale = float(np.abs(steps).sum()) or float(np.abs(reach).sum())
    error = abs(values[0] - values[1] - float(steps.sum()))
    if not error <= DIFFERENCE_TOLERANCE[dtype] * scale + rounding:
        raise WrongResult(
            f"{what}: along a direction the function changes by {values[0] - values[1]:.6g}, and the gradient says "
            f"{steps.sum():.6g} (relative error {error / scale:.2g}, tolerance {DIFFERENCE_TOLERANCE[dtype]:.2g})"
        )
    return max(0.0, error - rounding) / scale


def _at(slopes: Slopes, moved: Any) -> float:
    inputs = list(slopes.inputs)
    inputs[slopes.position] = moved
    return slopes.scalar(*inputs)

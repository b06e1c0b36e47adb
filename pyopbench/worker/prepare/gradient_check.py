"""Gradients against finite differences along random directions, at a small size.

Each input is moved along four directions, over a step and twice that step. Of a smooth function, f(x + h) - f(x - h)
then doubles and f(x + h) + f(x - h) - 2 f(x) grows fourfold. Otherwise there is a kink, a jump or noise nearby, and
that direction says nothing about the gradient. If most directions of an input say nothing, the gradient was not
checked; it is not called wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyopbench.model.case import Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.checks import Checked, Reference, dense, reference_of
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap

STEP = {"float32": 2.0**-8, "float64": 2.0**-12}
"""The shorter step, times the magnitude of an element above 1. Rounding (about eps / step) and truncation (about step
squared) are then both well below `TOLERANCE` for functions of order one; in float64 also for a body that computes in
float32."""

TOLERANCE = {"float32": 1e-2, "float64": 1e-3}
"""How far a slope may be from the gradient, relative to the sum of the magnitudes that it is made of."""

AGREEMENT = 0.2
"""How far the two steps may disagree, in tolerances: what is wrong by chance as well must not be called wrong."""

ROUNDINGS = 8.0
"""Roundings of what a function adds up that its value may be off by."""

COARSEST = 0.1
"""Share of a slope above which its rounding hides whether the gradient is right."""

DIRECTIONS = 4
"""The first moves every element along the sign of the gradient, so that slopes add up; each other one moves some."""

MOVED = 32
"""Elements that each other direction moves: of thousands, one would often be near a kink."""

SMALL = 4
"""Gradients are checked at the smallest size of the op that is at least this."""

_errors: dict[tuple[str, ...], float | None] = {}
"""Results by op, variant, mechanism, mode and dtype. They are for one small size whatever the size of the case, so once
in a process is enough; what failed is not in here, and fails again."""


def small_size(op: Op) -> int:
    """Return the size of an op's inputs where small inputs are enough."""
    return min((size for size in op.sizes if size >= SMALL), default=max(op.sizes))


def check_differences(checked: Checked, op: Op, variant: Variant, case: Case) -> Checked:
    """Return `checked` with the error of the gradient against finite differences at a small size."""
    key = (case.op, case.variant, case.gradient, case.mode, case.dtype)
    if key not in _errors:
        # A function of its own: one that has been traced for a second shape takes longer to call.
        function = wrap(variant.build(op, case), variant, case.mode)
        _errors[key] = difference_error(op, function, reference_of(op.name, small_size(op), case.dtype))
    return replace(checked, finite_difference=_errors[key])


def difference_error(op: Op, function: Body, reference: Reference) -> float | None:
    """Return the largest error of the gradients of a function on tensors against finite differences.

    It is relative to the magnitudes of the slope; None where finite differences cannot check an input.
    """
    inputs, weights = reference.inputs, reference.output_gradients
    forward, backward = forward_and_backward(op, function, constants(inputs), constants(weights))
    forward()
    gradients = dense(backward())

    def scalar(*arrays: Any) -> float:
        try:
            outputs = as_tuple(function(*constants(arrays)))
        except Exception:  # noqa: BLE001 - the user's body may accept no inputs but those it was written for
            return np.nan
        floating = [outputs[i].numpy().astype(np.float64) for i in op.floating_outputs]
        if [output.shape for output in floating] != [weight.shape for weight in weights]:
            return np.nan  # an input that moved over a threshold gives outputs of other lengths
        return float(sum((output * weight).sum() for output, weight in zip(floating, weights, strict=True)))

    magnitude = float(
        sum(
            np.abs(reference.outputs[i].astype(np.float64) * weight).sum()
            for i, weight in zip(op.floating_outputs, weights, strict=True)
        )
    )
    errors = []
    for position, gradient in zip(op.differentiable, gradients, strict=True):
        # Nobody said which inputs of an own op matter, so no path is a gradient of 0.
        got = np.zeros_like(inputs[position]) if gradient is None and op.is_own else gradient
        what = f"gradient of input {position} against finite differences"
        errors.append(slope_error(what, got, ScalarFunction(scalar, inputs, position, magnitude)))
    return None if None in errors else max((error for error in errors if error is not None), default=0.0)


@dataclass(frozen=True)
class ScalarFunction:
    """A scalar function of arrays, and one of its inputs to move."""

    scalar: Callable[..., float]
    inputs: Sequence[Any]
    position: int
    magnitude: float  # sum of the magnitudes that the function adds up: what its rounding is relative to

    def at(self, moved: Any) -> float:
        """Return the function with another array, float64, in place of the input."""
        arrays = list(self.inputs)
        arrays[self.position] = moved.astype(arrays[self.position].dtype)
        return self.scalar(*arrays)


def slope_error(what: str, gradient: Any, function: ScalarFunction) -> float | None:
    """Return the largest error of a gradient against the slopes of a function along random directions.

    It is relative to the magnitudes that a slope is made of; None where most directions say nothing.

    Raises:
        WrongResult: the gradient is None, of another shape or dtype than the input, or further off than `TOLERANCE`.
    """
    x = function.inputs[function.position]
    if gradient is None:
        raise WrongResult(f"{what} is None: TensorFlow found no gradient for it")
    gradient = np.asarray(gradient)
    if (gradient.shape, gradient.dtype) != (x.shape, x.dtype):
        raise WrongResult(f"{what}: expected {x.dtype} {x.shape}, got {gradient.dtype} {gradient.shape}")
    if x.dtype.name not in STEP:
        return None
    if x.size == 0:
        return 0.0
    rng = np.random.default_rng([x.size, function.position])
    directions = [_direction(gradient, rng, everywhere=number == 0) for number in range(DIRECTIONS)]
    slopes = [slope for direction in directions if (slope := _slope(gradient, function, direction)) is not None]
    if len(slopes) < DIRECTIONS / 2:
        return None
    worst = max(slopes, key=lambda slope: slope.error)
    tolerance = TOLERANCE[x.dtype.name]
    if worst.error > tolerance:
        raise WrongResult(
            f"{what}: along one direction the slope is {worst.value:.6g}, but the gradient gives {worst.expected:.6g} "
            f"(relative error {worst.error:.2g}, tolerance {tolerance:.2g})"
        )
    return worst.error


def _direction(gradient: Any, rng: np.random.Generator, *, everywhere: bool) -> Any:
    """Return a direction of the shape of a gradient, float64."""
    size = rng.uniform(0.5, 1.5, gradient.shape)
    if everywhere:
        return size * np.where(gradient < 0, -1.0, 1.0)
    is_moved = np.zeros(gradient.size, bool)
    is_moved[rng.choice(gradient.size, min(MOVED, gradient.size), replace=False)] = True
    return size * rng.choice([-1.0, 1.0], gradient.shape) * is_moved.reshape(gradient.shape)


@dataclass(frozen=True)
class _Slope:
    """The slope along a direction by finite differences, and by the gradient."""

    value: float
    expected: float
    error: float


def _slope(gradient: Any, function: ScalarFunction, direction: Any) -> _Slope | None:
    """Return the slope along a direction; None where finite differences say nothing."""
    x = function.inputs[function.position].astype(np.float64)
    dtype = gradient.dtype.name
    step, tolerance = STEP[dtype], TOLERANCE[dtype]
    reach = np.where(np.isfinite(x), step * np.maximum(1.0, np.abs(x)), 0.0) * direction
    center = function.at(x)
    above, below, far_above, far_below = (function.at(x + times * reach) for times in (1, -1, 2, -2))
    slope = (above - below) / 2
    terms = np.zeros_like(reach)
    np.multiply(gradient.astype(np.float64), reach, out=terms, where=reach != 0)
    is_finite = bool(np.isfinite(terms).all())
    scale = max(float(np.abs(terms).sum()) if is_finite else 0.0, abs(slope))
    rounding = ROUNDINGS * float(np.finfo(dtype).eps) * function.magnitude / 2
    disagreement = max(
        abs(slope - (far_above - far_below) / 4),
        abs((above + below - 2 * center) - (far_above + far_below - 2 * center) / 4),
    )
    # A function that does not change, such as a search that stops early, has a slope that only its author knows.
    is_flat = slope == 0 and bool(terms.any())
    if is_flat or rounding > COARSEST * scale > 0 or not disagreement <= AGREEMENT * tolerance * scale + 2 * rounding:
        return None
    with np.errstate(invalid="ignore"):  # infinities of both signs
        expected = float(terms.sum())
    error = max(0.0, abs(slope - expected) - rounding) / scale if scale else 0.0
    # Where the function has a slope, a gradient that is not finite is wrong.
    return _Slope(slope / step, expected / step, error if is_finite else np.inf)

"""Gradients against central differences, for what no reference vouches for, or as a second witness.

Small inputs are moved element by element; large ones along a few directions, which takes two calls each, whatever the
size. Where there is a reference gradient every mechanism is held against it element by element, so that one mechanism
whose differences were right vouches for the reference, and of the others some elements are moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopbench.catalogue.gradients import as_tuple
from pyopbench.core.errors import WrongResult
from pyopbench.core.model import Case
from pyopbench.core.op import Body, Op
from pyopbench.core.variant import Variant
from pyopbench.prepare.checks import DIFFERENCE_STEP, DIFFERENCE_TOLERANCE, central_differences, require_equal
from pyopbench.prepare.noisy_differences import Line, error_beside_noise, line_through
from pyopbench.prepare.reference import Reference, dense, reference_of
from pyopbench.prepare.segments import constants, forward_and_backward, wrap

DIRECTIONS = 4
"""Directions that a gradient is looked at along: the first moves every element, the others a random part."""

ELEMENTS = 512
"""Elements that the other directions move: few enough for an error in half of them to stand out."""

ROUNDINGS = 8.0
"""Roundings of the function's value that a difference may be off by, beside what is relative to the slope."""

DIFFERENCE_SIZE = 4
"""Gradients are checked by finite differences at the smallest size of the op that is at least this."""

MOST_ELEMENTS = 512
"""An input with more of them is moved along a few directions, and not element by element: two calls each."""

MOST_VOUCHED = 32
"""Elements that are moved of a mechanism that is held against a reference that another one has vouched for: hundreds of
calls for each mechanism of an op of one's own took most of the time of a run. One by one, because a step along many at
once crosses a kink of one of them."""

_checked_differences: dict[tuple[str, ...], float] = {}
"""Errors by op, variant, mechanism, mode and dtype. They are taken at one small size whatever the size of the case, so
that once in a process is enough; what failed is not in here, and fails again."""

_vouched: set[tuple[str, str]] = set()
"""Ops and dtypes whose reference gradient a mechanism agrees with whose differences were right."""


@dataclass(frozen=True)
class ScalarFunction:
    """A scalar function of arrays, the point at which its gradient is checked, and which input to move.

    `scalar` takes arrays and returns a float, `inputs` are the arrays there.
    """

    scalar: Callable[..., float]
    inputs: Sequence[Any]
    position: int


def require_slope(what: str, got: Any, function: ScalarFunction) -> float:
    """Check a gradient against central differences along directions.

    Each direction goes along the sign of the gradient, so that its elements add up and do not cancel, and somewhere
    where the gradient is 0. What a difference differs by from the sum over the gradient is taken relative to the sum
    of magnitudes.

    Args:
        what: names the gradient in the error.
        got: the gradient, of the shape and dtype of the input; None is none.
        function: what it is the gradient of.

    Returns:
        The largest error.

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
    errors = [_error_along(what, gradient, function, _direction(gradient, rng, part)) for part in range(DIRECTIONS)]
    return max(errors)


def _direction(gradient: Any, rng: np.random.Generator, part: int) -> Any:
    sign = np.where(gradient == 0, rng.choice([-1.0, 1.0], gradient.shape) if part else 1.0, np.sign(gradient))
    moved = np.ones(gradient.size, bool)
    if part:
        moved[:] = False
        moved[rng.choice(gradient.size, ELEMENTS, replace=False)] = True
    return sign * rng.uniform(0.5, 1.5, gradient.shape) * moved.reshape(gradient.shape)


def _error_along(what: str, gradient: Any, function: ScalarFunction, direction: Any) -> float:
    x = function.inputs[function.position]
    dtype = str(x.dtype.name)
    reach = DIFFERENCE_STEP[dtype] * np.maximum(1.0, np.abs(x.astype(np.float64))) * direction
    above, below = (x + reach).astype(x.dtype), (x - reach).astype(x.dtype)
    values = [_at(function, moved) for moved in (above, below)]
    # The distance that the dtype could really represent, not the one asked for.
    steps = gradient.astype(np.float64) * (above.astype(np.float64) - below.astype(np.float64))
    rounding = ROUNDINGS * float(np.finfo(x.dtype).eps) * max(map(abs, values))
    scale = float(np.abs(steps).sum()) or float(np.abs(reach).sum())
    error = abs(values[0] - values[1] - float(steps.sum()))
    if not error <= DIFFERENCE_TOLERANCE[dtype] * scale + rounding:
        noisy = _beside_noise_along(gradient, function, reach / DIFFERENCE_STEP[dtype], error)
        if noisy is not None:
            return noisy
        raise WrongResult(
            f"{what}: along one direction the function changes by {values[0] - values[1]:.6g}, but the gradient says "
            f"{steps.sum():.6g} (relative error {error / scale:.2g}, tolerance {DIFFERENCE_TOLERANCE[dtype]:.2g})"
        )
    return max(0.0, error - rounding) / scale


def _beside_noise_along(gradient: Any, function: ScalarFunction, unit: Any, error: float) -> float | None:
    """Return the error of a gradient along a direction for a body with noise, as `error_beside_noise`."""
    dtype = str(gradient.dtype.name)
    step, slopes = DIFFERENCE_STEP[dtype], gradient.astype(np.float64) * unit
    line = Line(
        line_through(function.scalar, function.inputs, function.position, unit), float(slopes.sum()), error / (2 * step)
    )
    scale = float(np.abs(slopes).sum())
    return error_beside_noise([line], scale, step, dtype, DIFFERENCE_TOLERANCE[dtype]) if scale else None


def _beside_noise(got: Any, expected: Any, function: ScalarFunction, dtype: str) -> float | None:
    """Return the error of a gradient for a body with noise, as `error_beside_noise`, of the elements that are off."""
    found = np.asarray(got)
    if found.shape != expected.shape or found.dtype != expected.dtype or not np.isfinite(found).all():
        return None
    x, tolerance = function.inputs[function.position], DIFFERENCE_TOLERANCE[dtype]
    errors = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    scale = float(np.abs(found).max())
    lines = []
    for index in map(tuple, np.argwhere(errors > tolerance * float(np.abs(expected).max()))):
        unit = np.zeros(x.shape)
        unit[index] = reach = max(1.0, abs(float(x[index])))
        along = line_through(function.scalar, function.inputs, function.position, unit)
        lines.append(Line(along, float(found[index]), float(errors[index]), reach))
    return error_beside_noise(lines, scale, DIFFERENCE_STEP[dtype], dtype, tolerance) if lines and scale else None


def _at(function: ScalarFunction, moved: Any) -> float:
    inputs = list(function.inputs)
    inputs[function.position] = moved
    return function.scalar(*inputs)


def difference_error(op: Op, variant: Variant, case: Case) -> float:
    """Return the largest distance of a gradient from central differences at a small size.

    Raises:
        WrongResult: it is larger than differences are off by.
    """
    key = (case.op, case.variant, case.gradient, case.mode, case.dtype)
    if key not in _checked_differences:
        # A function of its own: one that has been traced for a second shape takes longer to call.
        function = wrap(variant.build(op, case), variant, case.mode)
        vouched = (case.op, case.dtype)
        _checked_differences[key], has_reference = _error_of(op, function, case.dtype, is_vouched=vouched in _vouched)
        if has_reference:
            _vouched.add(vouched)
    return _checked_differences[key]


def small_size(op: Op) -> int:
    """Return the size that an op is looked at where small is enough: the least from `DIFFERENCE_SIZE` on."""
    return min((size for size in op.sizes if size >= DIFFERENCE_SIZE), default=max(op.sizes))


def _some_places(x: Any) -> list[tuple[int, ...]]:
    """Return the indices of elements of an array, drawn without regard to order: the same in every process."""
    drawn = np.random.default_rng(x.size).permutation(x.size)[:MOST_VOUCHED]
    return [tuple(int(part) for part in np.unravel_index(place, x.shape)) for place in drawn]


def _error_of(op: Op, function: Body, dtype: str, *, is_vouched: bool) -> tuple[float, bool]:
    """Return the largest error, with few elements moved where the reference is vouched for; is there a reference?"""
    reference = reference_of(op.name, small_size(op), dtype)
    return error_at(op, function, reference, dtype, is_vouched=is_vouched), reference.gradients is not None


def error_at(op: Op, function: Body, reference: Reference, dtype: str, *, is_vouched: bool = False) -> float:
    """Return the largest distance of a gradient from central differences at the inputs of a reference.

    Args:
        op: says which inputs are moved.
        function: the wrapped body of a variant, on tensors.
        reference: the inputs, and what flows into the floating outputs.
        dtype: of the case.
        is_vouched: move few elements, because another mechanism with the same gradient was right.

    Raises:
        WrongResult: it is larger than differences are off by.
    """
    forward, backward = forward_and_backward(
        op, function, constants(reference.inputs), constants(reference.output_gradients)
    )
    forward()
    found = dense(backward())

    def scalar(*arrays: Any) -> float:
        outputs = as_tuple(function(*constants(arrays)))
        floating = [outputs[i].numpy().astype(np.float64) for i in op.floating_outputs]
        return float(
            sum((output * weight).sum() for output, weight in zip(floating, reference.output_gradients, strict=True))
        )

    def error_of_input(position: int, got: Any) -> float:
        what = f"gradient of input {position} against finite differences"
        if got is None and op.is_own:  # where it is not known which inputs matter, no path is a gradient of 0
            got = np.zeros_like(reference.inputs[position])
        x = reference.inputs[position]
        if x.size > MOST_ELEMENTS and not is_vouched:
            return require_slope(what, got, ScalarFunction(scalar, reference.inputs, position))
        places = _some_places(x) if is_vouched else list(np.ndindex(x.shape))
        expected = central_differences(scalar, reference.inputs, position, DIFFERENCE_STEP[dtype], places)
        if got is not None and len(places) < x.size and got.shape == x.shape:
            moved = np.zeros(x.shape, bool)
            moved[tuple(np.transpose(places))] = True
            got = np.where(moved, got, np.zeros_like(got))
        try:
            return require_equal(what, got, expected, DIFFERENCE_TOLERANCE[dtype])
        except WrongResult:
            function_of_input = ScalarFunction(scalar, reference.inputs, position)
            noisy = None if got is None else _beside_noise(got, expected, function_of_input, dtype)
            if noisy is None:
                raise
            return noisy

    return max(error_of_input(position, got) for position, got in zip(op.differentiable, found, strict=True))

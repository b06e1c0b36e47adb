"""Gradients against central differences, for what no reference vouches for, or as a second witness.

Small inputs are moved element by element; large ones along a few directions, which takes two calls each, whatever the
size. Where there is a reference gradient every mechanism is held against it element by element, so that one mechanism
whose differences were right vouches for the reference, and of the others some elements are moved.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pyopbench.model.case import Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.prepare.checks import (
    DIFFERENCE_STEP,
    DIFFERENCE_TOLERANCE,
    Checked,
    central_differences,
    require_equal,
)
from pyopbench.worker.prepare.directional_differences import ScalarFunction, require_slope
from pyopbench.worker.prepare.noisy_differences import Judged, Line, judge, line_through
from pyopbench.worker.prepare.reference import Reference, dense, reference_of
from pyopbench.worker.prepare.segments import constants, forward_and_backward, wrap

DIFFERENCE_SIZE = 4
"""Gradients are checked by finite differences at the smallest size of the op that is at least this."""

MOST_ELEMENTS = 512
"""An input with more of them is moved along a few directions, and not element by element: two calls each."""

MOST_VOUCHED = 32
"""Elements that are moved of a mechanism that is held against a reference that another one has vouched for: hundreds of
calls for each mechanism of an op of one's own took most of the time of a run. One by one, because a step along many at
once crosses a kink of one of them."""

_checked_differences: dict[tuple[str, ...], Judged] = {}
"""What came of it by op, variant, mechanism, mode and dtype. They are taken at one small size whatever the size of the
case, so that once in a process is enough; what failed is not in here, and fails again."""

_vouched: set[tuple[str, str]] = set()
"""Ops and dtypes whose reference gradient a mechanism agrees with whose differences were right."""


def _judged(got: Any, expected: Any, function: ScalarFunction, dtype: str) -> Judged | None:
    """Return what differences over several widths say of the elements of a gradient that the usual ones call off."""
    found = np.asarray(got)
    if found.shape != expected.shape or found.dtype != expected.dtype or not np.isfinite(found).all():
        return None
    x, tolerance = function.inputs[function.position], DIFFERENCE_TOLERANCE[dtype]
    errors = np.nan_to_num(np.abs(found.astype(np.float64) - expected.astype(np.float64)), nan=np.inf)
    finite = np.abs(expected[np.isfinite(expected)])
    # Of a gradient that is 0 everywhere, what the differences are instead.
    scale = float(np.abs(found).max()) or float(finite.max(initial=0.0))
    lines = []
    for index in map(tuple, np.argwhere(errors > tolerance * scale)):
        unit = np.zeros(x.shape)
        unit[index] = reach = max(1.0, abs(float(x[index])))
        along = line_through(function.scalar, function.inputs, function.position, unit)
        lines.append(Line(along, float(found[index]), float(errors[index]), reach))
    # The usual differences are relative to the largest of themselves, which noise may have made too large or too small.
    return judge(lines, scale, DIFFERENCE_STEP[dtype], dtype, tolerance) if scale else Judged()


def check_differences(checked: Checked, op: Op, variant: Variant, case: Case) -> Checked:
    """Return what was checked of a case, with its gradient checked by differences at a small size.

    Raises:
        WrongResult: it is larger than differences are off by.
    """
    key = (case.op, case.variant, case.gradient, case.mode, case.dtype)
    if key not in _checked_differences:
        # A function of its own: one that has been traced for a second shape takes longer to call.
        function = wrap(variant.build(op, case), variant, case.mode)
        vouched = (case.op, case.dtype)
        _checked_differences[key], has_reference = _judged_at(op, function, case.dtype, is_vouched=vouched in _vouched)
        if has_reference:
            _vouched.add(vouched)
    return with_differences(checked, _checked_differences[key])


def with_differences(checked: Checked, judged: Judged) -> Checked:
    """Return what was checked, with what differences say of the gradient."""
    return replace(
        checked,
        finite_difference=judged.error,
        difference_uncertainty=judged.uncertainty if judged.uncertainty else None,
    )


def small_size(op: Op) -> int:
    """Return the size that an op is looked at where small is enough: the least from `DIFFERENCE_SIZE` on."""
    return min((size for size in op.sizes if size >= DIFFERENCE_SIZE), default=max(op.sizes))


def _some_places(x: Any) -> list[tuple[int, ...]]:
    """Return the indices of elements of an array, drawn without regard to order: the same in every process."""
    drawn = np.random.default_rng(x.size).permutation(x.size)[:MOST_VOUCHED]
    return [tuple(int(part) for part in np.unravel_index(place, x.shape)) for place in drawn]


def _judged_at(op: Op, function: Body, dtype: str, *, is_vouched: bool) -> tuple[Judged, bool]:
    """Return what differences say, with few elements moved where the reference is vouched for; is there a reference?"""
    reference = reference_of(op.name, small_size(op), dtype)
    return judge_at(op, function, reference, dtype, is_vouched=is_vouched), reference.gradients is not None


def judge_at(op: Op, function: Body, reference: Reference, dtype: str, *, is_vouched: bool = False) -> Judged:
    """Return what central differences at the inputs of a reference say of a gradient: how far off, how uncertain.

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
        if [one.shape for one in floating] != [one.shape for one in reference.output_gradients]:
            return np.nan  # an input that moved over a threshold gives outputs of other lengths
        return float(
            sum((output * weight).sum() for output, weight in zip(floating, reference.output_gradients, strict=True))
        )

    def judged_input(position: int, got: Any) -> Judged:
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
            return Judged(require_equal(what, got, expected, DIFFERENCE_TOLERANCE[dtype]))
        except WrongResult:
            function_of_input = ScalarFunction(scalar, reference.inputs, position)
            judged = None if got is None else _judged(got, expected, function_of_input, dtype)
            if judged is None:
                raise
            return judged

    judged = [judged_input(position, got) for position, got in zip(op.differentiable, found, strict=True)]
    return Judged(max(one.error for one in judged), max(one.uncertainty for one in judged))

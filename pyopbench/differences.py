"""Gradients against central differences, for what no reference vouches for, or as a second witness."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyopbench.checks import DIFFERENCE_STEP, DIFFERENCE_TOLERANCE, central_differences, require_equal
from pyopbench.gradients import as_tuple
from pyopbench.model import Body, Case, Op, Variant
from pyopbench.reference import dense, reference_of
from pyopbench.segments import constants, forward_and_backward, wrap
from pyopbench.slanted import Slopes, require_slope

DIFFERENCE_SIZE = 4
"""Gradients are checked by finite differences at the smallest size of the op that is at least this."""

MOST_ELEMENTS = 512
"""An input with more of them is moved along a few directions, and not element by element: two calls each."""

_checked_differences: dict[tuple[str, ...], float] = {}
"""Errors by op, variant, mechanism, mode and dtype. They are taken at one small size whatever the size of the case, so
that once in a process is enough; what failed is not in here, and fails again."""


def difference_error(op: Op, variant: Variant, case: Case) -> float:
    """Return the largest distance of a gradient from central differences at a small size.

    Raises:
        WrongResult: it is larger than differences are off by.
    """
    key = (case.op, case.variant, case.gradient, case.mode, case.dtype)
    if key not in _checked_differences:
        # A function of its own: one that has been traced for a second shape takes longer to call.
        function = wrap(variant.build(op, case), variant, case.mode)
        _checked_differences[key] = _error_of(op, function, case.dtype)
    return _checked_differences[key]


def _error_of(op: Op, function: Body, dtype: str) -> float:
    size = min((size for size in op.sizes if size >= DIFFERENCE_SIZE), default=max(op.sizes))
    reference = reference_of(op.name, size, dtype)
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

    def error_at(position: int, got: Any) -> float:
        what = f"gradient of input {position} against finite differences"
        if got is None and op.is_own:  # where it is not known which inputs matter, no path is a gradient of 0
            got = np.zeros_like(reference.inputs[position])
        if reference.inputs[position].size > MOST_ELEMENTS:
            return require_slope(what, got, Slopes(scalar, reference.inputs, position))
        expected = central_differences(scalar, reference.inputs, position, DIFFERENCE_STEP[dtype])
        return require_equal(what, got, expected, DIFFERENCE_TOLERANCE[dtype])

    return max(error_at(position, got) for position, got in zip(op.differentiable, found, strict=True))

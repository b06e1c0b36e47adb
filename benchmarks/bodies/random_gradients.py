"""Gradients of a port on random inputs, against the gradient by hand or against differences of the body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bodies.left_open import Compared, are_open
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.ports.arrays import as_given, as_tuple
from pyopbench.worker.prepare.checks import DIFFERENCE_STEP, Reference, central_differences, check_gradients, dense
from pyopbench.worker.prepare.gradient_check import judge_at
from pyopbench.worker.prepare.segments import constants, forward_and_backward

MOST_ELEMENTS = 64
"""Inputs with more elements are not moved one by one: two calls for each."""

NEIGHBOURS = 24
"""Points within one step, most of them near, at which it is seen whether the gradient jumps."""

NEAREST = 24
"""How often the shortest of their distances is halved."""

JUMPS = 2.0
"""How many times as far as the gradient changes within one step a difference over it may be off."""


def gradient_outcome(op: Op, function: Any, reference: Reference, dtype: str) -> tuple[str, str]:
    """Return what became of the gradient of a port at some inputs, and what is off.

    Returns:
        `equal`, `open` (at a kink or a tie, where each side has a gradient of its own), `wrong`, or `none` where there
        is nothing to hold it against: an input or an output is not finite, or there are too many elements to move.
    """
    if not _is_finite((*reference.inputs, *reference.outputs)) or not all(
        reference.inputs[place].size for place in op.differentiable
    ):
        return "none", ""
    if reference.gradients is not None:
        return _against_gradient(op, function, reference, dtype)
    if any(reference.inputs[place].size > MOST_ELEMENTS for place in op.differentiable):
        return "none", ""
    return _against_differences(op, function, reference, dtype)


def _is_finite(arrays: Sequence[Any]) -> bool:
    return all(array.dtype.kind not in "fc" or bool(np.isfinite(array).all()) for array in arrays)


def _against_gradient(op: Op, function: Any, reference: Reference, dtype: str) -> tuple[str, str]:
    expected = reference.gradients
    assert expected is not None
    if not _is_finite(expected):
        return "none", ""
    found = gradients_of(op, function, reference.inputs, reference.output_gradients)
    try:
        check_gradients(op, found, reference, dtype)
    except WrongResult as error:
        arrays = _with_zeros(found, expected)
        compared = Compared(arrays, expected, op.tolerance[dtype])
        # At 0 too: which side of a kink it is on is for nobody to say.
        is_open = are_open(lambda inputs: _by_hand(op, inputs, reference), reference.inputs, compared, whole_too=True)
        return ("open" if is_open else "wrong"), error.message
    return "equal", ""


def _by_hand(op: Op, inputs: Sequence[Any], reference: Reference) -> list[Any]:
    assert op.numpy_gradient is not None
    outputs = [np.asarray(one) for one in as_tuple(op.numpy(*as_given(inputs)))]
    return [
        np.asarray(one)
        for one in op.numpy_gradient(as_given(inputs), as_given(outputs), as_given(reference.output_gradients))
    ]


def _with_zeros(found: Sequence[Any], like: Sequence[Any]) -> list[Any]:
    """Return gradients as arrays; where TensorFlow found no path, it is 0."""
    return [np.zeros_like(other) if one is None else np.asarray(one) for one, other in zip(found, like, strict=True)]


def gradients_of(op: Op, function: Any, inputs: Sequence[Any], output_gradients: Sequence[Any]) -> list[Any]:
    """Return what TensorFlow derives for each differentiable input."""
    forward, backward = forward_and_backward(op, function, constants(inputs), constants(output_gradients))
    forward()
    return dense(backward())


def _against_differences(op: Op, function: Any, reference: Reference, dtype: str) -> tuple[str, str]:
    try:
        judge_at(op, function, reference, dtype)
    except WrongResult as error:
        is_open = _jumps(op, function, reference)
        return ("open" if is_open else "wrong"), error.message
    return "equal", ""


def _jumps(op: Op, function: Any, reference: Reference) -> bool:
    """Does the gradient itself change by about as much within one step as differences are off, as at a kink?

    That of a smooth function changes by less the shorter the step is, and one that is wrong does not change at all.
    """
    inputs, weights = reference.inputs, reference.output_gradients

    def scalar(*arrays: Any) -> float:
        outputs = as_tuple(op.numpy(*as_given(arrays)))
        pairs = zip(op.floating_outputs, weights, strict=True)
        return float(sum((np.float64(outputs[place]) * weight).sum() for place, weight in pairs))

    def gradients(at: Sequence[Any]) -> list[Any]:
        like = [inputs[place] for place in op.differentiable]
        return _with_zeros(gradients_of(op, function, at, weights), like)

    rng = np.random.default_rng(0)
    here = gradients(inputs)
    for number, place in enumerate(op.differentiable):
        step = DIFFERENCE_STEP[inputs[place].dtype.name]
        off = _largest(here[number] - central_differences(scalar, inputs, place, step))
        near = [_beside(inputs, place, step, rng) for _ in range(NEIGHBOURS)]
        jump = max(_largest(gradients(one)[number] - here[number]) for one in near)
        if not off <= JUMPS * jump + np.finfo(inputs[place].dtype).eps ** 0.5:
            return False
    return True


def _beside(inputs: Sequence[Any], place: int, step: float, rng: np.random.Generator) -> list[Any]:
    """Return inputs of which the elements of one are each up to a step away."""
    array, near = inputs[place], list(inputs)
    step *= 2.0 ** rng.uniform(-NEAREST, 0)
    reach = step * np.maximum(1.0, np.abs(array)) * rng.choice([-1.0, 1.0], array.shape)
    near[place] = np.asarray(array + reach, array.dtype)
    return near


def _largest(array: Any) -> float:
    return float(np.abs(array).max())

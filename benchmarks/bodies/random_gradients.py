"""Gradients of a port on random inputs, against the gradient by hand or against differences of the body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bodies.left_open import Compared, are_open
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Op
from pyopbench.ports.arrays import as_given, as_tuple
from pyopbench.worker.prepare.checks import Reference, check_gradients, dense
from pyopbench.worker.prepare.gradient_check import difference_error
from pyopbench.worker.prepare.segments import constants, forward_and_backward


def gradient_outcome(op: Op, function: Any, reference: Reference, dtype: str) -> tuple[str, str]:
    """Return what became of the gradient of a port at some inputs, and what is off.

    Returns:
        `equal`, `open` (at a kink or a tie, where each side has a gradient of its own), `wrong`, or `none` where an
        input or an output is not finite.
    """
    if not _is_finite((*reference.inputs, *reference.outputs)) or not all(
        reference.inputs[place].size for place in op.differentiable
    ):
        return "none", ""
    if reference.gradients is not None:
        return _against_gradient(op, function, reference, dtype)
    return _against_differences(op, function, reference)


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


def _against_differences(op: Op, function: Any, reference: Reference) -> tuple[str, str]:
    try:
        error = difference_error(op, function, reference)
    except WrongResult as wrong:
        return "wrong", wrong.message
    return ("open" if error is None else "equal"), ""

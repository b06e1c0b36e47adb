"""A variant that is probed with one op, its own inputs and its reference, in place of the cube.

The second derivative of an op in a variant, held against differences of its first gradient.

What is differentiated is the sum of y + y**2 / (2 s) over the outputs y, whose largest magnitude is s, and of x**2 over
the inputs. Where a gradient cannot be differentiated again TensorFlow leaves its part out without an error, and what is
left then is the part of x**2 alone. That of y**2 shows a gradient that cannot be differentiated by what flows into it,
also where the op itself has no second derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import WrongResult
from pyopbench.model.op import Body, Op
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ports.arrays import as_array, as_tuple, dtype_of
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare import checks
from pyopbench.worker.prepare.checks import (
    DIFFERENCE_STEP,
    DIFFERENCE_TOLERANCE,
    Reference,
    central_differences,
    reference_of,
)
from pyopbench.worker.prepare.gradient_check import ROUNDINGS, small_size
from pyopbench.worker.prepare.segments import constants
from pyopbench.worker.subject import Differs, Inapplicable, Subject


@dataclass(frozen=True)
class OpSubject(Subject):
    """A variant of an op, at a small size of the op and in its first dtype.

    Attributes:
        op_name: the op.
        why_no_gradient: why it is built without a gradient; empty where it is not.
    """

    op_name: str
    why_no_gradient: str = ""

    @cached_property
    def op(self) -> Op:
        """The op as it stands."""
        return load_op(self.op_name)

    @property
    def dtype(self) -> str:
        """The dtype that it is tried in."""
        return self.op.dtypes[0]

    @cached_property
    def reference(self) -> Reference:
        """The inputs, and what NumPy makes of them."""
        return reference_of(self.op_name, small_size(self.op), self.dtype)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the op is given; text as objects of `bytes`."""
        return self.reference.inputs

    @property
    def tensors(self) -> tuple[Any, ...]:
        """What the op is given, as new tensors."""
        return constants(self.arrays)

    @property
    def given(self) -> tuple[tf.TensorSpec, ...]:
        """Shape and dtype of each input."""
        return tuple(tf.TensorSpec(array.shape, dtype_of(array)) for array in self.arrays)

    def require_values(self, what: str, found: Any) -> None:
        """Check what was computed against the op's reference, within the tolerance of the op.

        Raises:
            Differs: number, dtype, shape or values of the outputs are not the reference's.
        """
        outputs, expected = as_tuple(found), self.reference.outputs
        if len(outputs) != len(expected):
            raise Differs(f"{what}: {len(outputs)} outputs where the reference has {len(expected)}")
        for place, (output, right) in enumerate(zip(outputs, expected, strict=True)):
            name = what if len(expected) == 1 else f"{what}, output {place},"
            try:
                checks.require_equal(name, _array_of(output), right, self.op.tolerance[self.dtype])
            except WrongResult as wrong:
                raise Differs(f"{wrong}, without an error") from wrong

    def case(self, gradient: str, direction: str) -> Case:
        """Return the case that it is built for."""
        size = small_size(self.op)
        return Case(self.op_name, self.variant.name, gradient, direction, "call", self.dtype, size)


def load_op_subject(name: str, gradient: str, folder: Path, op_name: str) -> OpSubject:
    """Return a variant of an op, with its gradient where it can have that.

    Raises:
        Inapplicable: the op does not exist in this variant, with the reason.
        Exception: the op cannot be loaded; whatever its file raises.
    """
    subject = OpSubject(load_variant(name), gradient, folder, op_name)
    reason = why_not(subject.op, subject.variant, subject.case(NO_GRADIENT, "forward"))
    if reason:
        raise Inapplicable(reason)
    why = _why_no_gradient(subject)
    return OpSubject(subject.variant, NO_GRADIENT if why else gradient, folder, op_name, why)


def _why_no_gradient(subject: OpSubject) -> str:
    if subject.op.lacks_gradient and subject.variant.is_port:
        return ""  # TensorFlow finds one through a port, and no case holds it against a callback's
    return why_not(subject.op, subject.variant, subject.case(subject.gradient, "forward_backward")) or ""


def _array_of(output: Any) -> Any:
    """Return a tensor, an array or a single text as an array."""
    return None if output is None else as_array(output.numpy() if tf.is_tensor(output) else output)


def dense(gradients: Sequence[Any]) -> list[Any]:
    """Return gradients as arrays; None where there is none."""
    return [None if one is None else tf.convert_to_tensor(one).numpy() for one in gradients]


MOST_MOVED = 8
"""Elements of each input that are moved, by four calls of the gradient each."""

FINEST = 0.1
"""Largest uncertainty of a difference, as a share of the largest second derivative, with which it tells anything: what
lacks the part of the op differs by that part."""

DIFFERENCES, NATIVE_BODY = "finite differences", "the TensorFlow body"


@dataclass(frozen=True)
class Expected:
    """What elements of the second derivative should be.

    Attributes:
        input: place of the input.
        index: of the element.
        value: what it should be.
        tolerance: by how much it may differ from that.
    """

    input: int
    index: tuple[int, ...]
    value: float
    tolerance: float


def require_second_derivative(subject: OpSubject) -> str:
    """Check the second derivative of a subject, along one direction, and return what it was held against.

    Raises:
        Differs: it is another one.
        Inapplicable: the op has no gradient, or nothing tells what its second derivative is.
    """
    if subject.why_no_gradient or not subject.op.differentiable:
        raise Inapplicable(subject.why_no_gradient or "the op has no gradient")
    function = subject.function()
    found = _second(subject, function)
    expected, against = _by_differences(subject, function), DIFFERENCES
    if not expected:
        expected, against = _by_native_body(subject), NATIVE_BODY
    for one in expected:
        value = float(found[one.input][one.index])
        if not abs(value - one.value) <= one.tolerance:
            place = subject.op.differentiable[one.input]
            raise Differs(
                f"a second derivative by input {place} is {value:.6g} at index {list(one.index)} and should be "
                f"{one.value:.6g} by {against}, without an error"
            )
    return against


def _directions(subject: OpSubject) -> list[Any]:
    """Return along what the first gradient is taken once more: away from 0 and from 1, as output gradients are."""
    rng = np.random.default_rng([2, *subject.op_name.encode()])
    inputs = [subject.arrays[place] for place in subject.op.differentiable]
    return [rng.uniform(0.5, 1.5, x.shape).astype(x.dtype) for x in inputs]


def _first(subject: OpSubject, function: Body, tensors: Sequence[Any]) -> list[Any]:
    """Return the gradients of what is differentiated, by the differentiable inputs, as tensors."""
    watched = [tensors[place] for place in subject.op.differentiable]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        outputs = as_tuple(function(*tensors))
        floating = zip(subject.op.floating_outputs, _scales(subject), strict=True)
        curved = [outputs[place] + outputs[place] * outputs[place] / (2 * scale) for place, scale in floating]
        targets = [*curved, *(x * x for x in watched)]
    incoming = [*constants(subject.reference.output_gradients), *map(tf.ones_like, watched)]
    gradients = tape.gradient(targets, watched, output_gradients=incoming)
    return [tf.convert_to_tensor(gradient) for gradient in gradients]


def _scales(subject: OpSubject) -> list[float]:
    """Return the largest magnitude of each floating output, 1 where there is none."""
    outputs = (subject.reference.outputs[place] for place in subject.op.floating_outputs)
    return [float(np.abs(output).max(initial=0.0)) or 1.0 for output in outputs]


def _second(subject: OpSubject, function: Body) -> list[Any]:
    """Return the gradients of the first gradients along `_directions`, as arrays."""
    tensors = subject.tensors
    watched = [tensors[place] for place in subject.op.differentiable]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        first = _first(subject, function, tensors)
    return dense(tape.gradient(first, watched, output_gradients=list(constants(_directions(subject)))))


def _by_differences(subject: OpSubject, function: Body) -> list[Expected]:
    """Return what elements should be, by differences of the first gradient; those alone that two steps agree on.

    A step across a kink of the gradient gives another number than half of that step.
    """
    directions = _directions(subject)
    parts: list[float] = []

    def scalar(*arrays: Any) -> float:
        first = _first(subject, function, constants(arrays))
        products = [gradient.numpy().astype(np.float64) * way for gradient, way in zip(first, directions, strict=True)]
        parts.append(max(float(np.abs(product).max(initial=0.0)) for product in products))
        return float(sum(product.sum() for product in products))

    found = []
    for place, position in enumerate(subject.op.differentiable):
        x = subject.arrays[position]
        step, tolerance = (table.get(x.dtype.name) for table in (DIFFERENCE_STEP, DIFFERENCE_TOLERANCE))
        if step is None or tolerance is None:
            continue
        moved = _moved(x)
        slopes = [central_differences(scalar, subject.arrays, position, one, moved) for one in (step, step / 2)]
        rounding = ROUNDINGS * float(np.finfo(x.dtype).eps) * max(parts, default=0.0) / step
        found += _agreed(place, moved, slopes, (tolerance, rounding))
    return found


def _moved(x: Any) -> list[tuple[int, ...]]:
    drawn = np.random.default_rng(x.size).permutation(x.size)[:MOST_MOVED]
    return [tuple(int(part) for part in np.unravel_index(place, x.shape)) for place in drawn]


def _agreed(
    place: int, moved: Sequence[tuple[int, ...]], slopes: Sequence[Any], allowed: tuple[float, float]
) -> list[Expected]:
    """Return the elements at which both slopes agree, finely enough to tell whether the op's part is there.

    Args:
        place: of the input.
        moved: indices of elements.
        slopes: by a step, and by half of it.
        allowed: the share of the largest slope, and the rounding, that a slope may be off by.
    """
    coarse, fine = ([float(slope[index]) for index in moved] for slope in slopes)
    scale = max((abs(value) for value in fine if np.isfinite(value)), default=0.0)
    tolerance = allowed[0] * scale + allowed[1]
    if not tolerance <= FINEST * scale:
        return []
    return [
        Expected(place, index, value, 2 * tolerance)
        for index, other, value in zip(moved, coarse, fine, strict=True)
        if abs(other - value) <= tolerance
    ]


def _by_native_body(subject: OpSubject) -> list[Expected]:
    """Return what every element should be, by TensorFlow's second derivative of the op's body in TensorFlow ops.

    Raises:
        Inapplicable: it has none, or that is what is tried.
    """
    body = subject.op.tensor
    if body is None or subject.variant.body == "tensor":
        raise Inapplicable("its second derivative cannot be checked by differences or by another body")
    found = _attempt(lambda: _second(subject, tf.function(body, autograph=False)))
    scale = max((float(np.abs(array).max(initial=0.0)) for array in found), default=0.0)
    tolerance = subject.op.tolerance[subject.dtype] * scale
    return [
        Expected(place, index, float(array[index]), tolerance)
        for place, array in enumerate(found)
        for index in np.ndindex(array.shape)
    ]


def _attempt(derive: Callable[[], list[Any]]) -> list[Any]:
    try:
        return derive()
    except Exception as error:
        why = f"its second derivative cannot be checked by differences, and its TensorFlow body has none: {error}"
        raise Inapplicable(why) from error

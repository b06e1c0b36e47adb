"""The only seam for clocks: from a case to a checked, warmed, blocking callable without arguments.

pyopbench's own sampler, asv and pytest-benchmark all time what `prepare` returns. `tf.function` wrapping, tapes,
checks and warm-up happen here and nowhere else. On the CPU eager ops and `tf.function` calls return when their
work is done, so nothing has to be waited for; placements with a device of their own wait in here as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.catalogue import load_op, load_variant, make_inputs
from pyopbench.checks import (
    DIFFERENCE_STEP,
    DIFFERENCE_TOLERANCE,
    Checked,
    central_differences,
    require_equal,
)
from pyopbench.errors import PyopbenchError, Unsupported, WrongResult
from pyopbench.gradients import as_tuple
from pyopbench.model import Body, Case, Op, Variant

TIMED_SEGMENTS = {"forward": (0,), "backward": (1,), "forward_backward": (0, 1)}
"""Which segments of a prepared case count for a direction."""

LONGEST_REASON = 300

UNTELLING = ("Graph execution error", "Detected at node", "<stack traces", "[[{{node", "Traceback (most")
"""Beginnings of lines in TensorFlow's messages that do not say what went wrong."""

EXCEPTION_NAMES = ("ValueError:", "TypeError:", "InvalidArgumentError:", "RuntimeError:", "KeyError:", "IndexError:")
"""Beginnings of the line in which TensorFlow quotes the exception of a callback's body."""

NODE_NUMBERS = re.compile(r"__inference_(\w+?)_\d+(?:\[_XlaMustCompile[^\]]*\])?")
"""TensorFlow's name of a function in a graph, numbered anew in every process."""

DIFFERENCE_SIZE = 4
"""Gradients are checked by finite differences at the smallest size of the op that is at least this."""


@dataclass(frozen=True)
class Prepared:
    """A case that is ready to be timed.

    Attributes:
        case: the case.
        segments: callables without arguments that return when their work is done. A forward case has one; the others
            have two, forward under a tape and backward, to be called in turn: `py_function` pops its tape entry.
        checked: the errors against the reference.
    """

    case: Case
    segments: tuple[Callable[[], Any], ...]
    checked: Checked

    @property
    def timed(self) -> tuple[int, ...]:
        """The positions of the segments whose seconds count for the case."""
        return TIMED_SEGMENTS[self.case.direction]

    def __call__(self) -> None:
        """Call every segment once, in order."""
        for segment in self.segments:
            segment()


@dataclass(frozen=True)
class _Reference:
    """Inputs of an op and what NumPy makes of them; `gradients` are of `output_gradients` through the op."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    output_gradients: tuple[Any, ...]
    gradients: tuple[Any, ...] | None


def prepare(case: Case, *, finite_differences: bool = False) -> Prepared:
    """Build, check and warm one case.

    Args:
        case: what to prepare.
        finite_differences: also check the gradient by finite differences, at a small size; slower.

    Returns:
        The prepared case.

    Raises:
        WrongResult: values or gradients are not the reference's.
        Unsupported: a speculative variant that does not work for this op.
        Exception: whatever the body raises.
    """
    op, variant = load_op(case.op), load_variant(case.variant)
    try:
        return _prepare(op, variant, case, finite_differences=finite_differences)
    except Exception as error:
        if not variant.speculative:
            raise
        raise Unsupported(f"{variant.name} does not work for {op.name}: {describe_error(error)}") from error


def describe_error(error: BaseException) -> str:
    """Return type and message of an error in one line that fits a table, without what differs from run to run."""
    if isinstance(error, PyopbenchError):
        return error.what
    lines = [line.strip() for line in str(error).splitlines()]
    telling = [line for line in lines if line and not line.startswith(UNTELLING)] or [""]
    line = next((line for line in telling if line.startswith(EXCEPTION_NAMES)), telling[0])
    named = line if line.startswith(EXCEPTION_NAMES) else f"{type(error).__name__}: {line}"
    text = NODE_NUMBERS.sub(r"\1", named)
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"


def _prepare(op: Op, variant: Variant, case: Case, *, finite_differences: bool) -> Prepared:
    _hide_accelerators()
    function = _wrap(variant.build(op, case), variant, case.mode)
    reference = _reference(case.op, case.size, case.dtype)
    tensors = tuple(tf.constant(array) for array in reference.inputs)
    checked = Checked(_check_values(op, function(*tensors), reference, case.dtype))
    if case.direction == "forward":
        return Prepared(case, (partial(function, *tensors),), checked)
    segments = _segments(op, function, tensors, reference)
    checked = replace(checked, gradient=_check_gradients(op, segments, reference, case.dtype))
    if finite_differences:
        checked = replace(checked, finite_difference=_check_differences(op, function, case.dtype))
    return Prepared(case, segments, checked)


@lru_cache(maxsize=1)
def _hide_accelerators() -> None:
    # A device scope around each call would be timed with it; a process that sees only the CPU needs none.
    tf.config.set_visible_devices([], "GPU")


def _wrap(built: Body, variant: Variant, mode: str) -> Body:
    if mode == "eager":
        return built
    # AutoGraph reads the source of a function itself, not of a wrapper: nothing may stand between.
    wrapped: Body = tf.function(built, **variant.function_options)
    return wrapped


def _segments(
    op: Op, function: Body, tensors: Sequence[Any], reference: _Reference
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    watched = [tensors[i] for i in op.differentiable]
    output_gradients = [tf.constant(array) for array in reference.output_gradients]
    recorded: list[Any] = [None, None]

    def forward() -> None:
        with tf.GradientTape() as tape:
            tape.watch(watched)
            outputs = as_tuple(function(*tensors))
        recorded[0], recorded[1] = tape, [outputs[i] for i in op.floating_outputs]

    def backward() -> Any:
        return recorded[0].gradient(recorded[1], watched, output_gradients=output_gradients)

    return forward, backward


def _check_values(op: Op, outputs: Any, reference: _Reference, dtype: str) -> float:
    found = as_tuple(outputs)
    if len(found) != len(reference.outputs):
        raise WrongResult(f"{len(found)} outputs where the reference has {len(reference.outputs)}")
    return max(
        require_equal(f"output {i}", got, expected, op.tolerance[dtype])
        for i, (got, expected) in enumerate(zip(found, reference.outputs, strict=True))
    )


def _check_gradients(op: Op, segments: Sequence[Callable[[], Any]], reference: _Reference, dtype: str) -> float | None:
    forward, backward = segments
    forward()
    found = backward()
    if reference.gradients is None:
        return None
    return max(
        require_equal(f"gradient of input {i}", got, expected, op.tolerance[dtype])
        for i, got, expected in zip(op.differentiable, found, reference.gradients, strict=True)
    )


def _check_differences(op: Op, function: Body, dtype: str) -> float:
    size = min((size for size in op.sizes if size >= DIFFERENCE_SIZE), default=max(op.sizes))
    reference = _reference(op.name, size, dtype)
    forward, backward = _segments(op, function, [tf.constant(array) for array in reference.inputs], reference)
    forward()
    found = backward()

    def scalar(*arrays: Any) -> float:
        outputs = as_tuple(function(*(tf.constant(array) for array in arrays)))
        floating = [outputs[i].numpy().astype(np.float64) for i in op.floating_outputs]
        return float(
            sum((output * weight).sum() for output, weight in zip(floating, reference.output_gradients, strict=True))
        )

    errors = [
        require_equal(
            f"gradient of input {position} against finite differences",
            got,
            central_differences(scalar, reference.inputs, position, DIFFERENCE_STEP[dtype]),
            DIFFERENCE_TOLERANCE[dtype],
        )
        for position, got in zip(op.differentiable, found, strict=True)
    ]
    return max(errors)


@lru_cache(maxsize=4)
def _reference(op_name: str, size: int, dtype: str) -> _Reference:
    op = load_op(op_name)
    inputs = make_inputs(op, size, dtype)
    outputs = tuple(
        np.asarray(output, output_dtype)
        for output, output_dtype in zip(as_tuple(op.numpy(*inputs)), op.output_dtypes(dtype), strict=True)
    )
    rng = np.random.default_rng([1, size, *op.name.encode()])
    # Away from 1, so that a gradient that ignores what flows into it is found out.
    output_gradients = tuple(
        rng.uniform(0.5, 1.5, outputs[i].shape).astype(outputs[i].dtype) for i in op.floating_outputs
    )
    gradients = None
    if op.numpy_gradient is not None and op.differentiable:
        gradients = tuple(np.asarray(g) for g in op.numpy_gradient(inputs, outputs, output_gradients))
    return _Reference(inputs, outputs, output_gradients, gradients)

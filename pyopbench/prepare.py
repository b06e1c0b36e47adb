"""The only seam for clocks: from a case to a checked, warmed, blocking callable without arguments.

Every clock times what `prepare` returns, or `prepare_all` where a case has several callables. `tf.function` wrapping,
tapes, checks and warm-up happen here and in `nodes`, and nowhere else. On the CPU eager ops and `tf.function` calls
return when their work is done (`tests/test_prepare.py` holds it), so nothing has to be waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench import nodes
from pyopbench.alignment import Crossing, aligned, aligned_share
from pyopbench.catalogue import load_op, load_variant, make_inputs
from pyopbench.checks import (
    DIFFERENCE_STEP,
    DIFFERENCE_TOLERANCE,
    Checked,
    central_differences,
    require_equal,
)
from pyopbench.errors import Elided, Unsupported, WrongResult
from pyopbench.gradients import as_tuple
from pyopbench.messages import describe_error
from pyopbench.model import FLOOR_DTYPE, Body, Case, Op, Variant

TIMED_SEGMENTS = {"forward": (0,), "backward": (1,), "forward_backward": (0, 1)}
"""Which segments of a prepared case count for a direction."""

DIFFERENCE_SIZE = 4
"""Gradients are checked by finite differences at the smallest size of the op that is at least this."""

_checked_differences: dict[tuple[str, ...], float] = {}
"""Errors by op, variant, mechanism, mode and dtype. They are taken at one small size whatever the size of the case, so
that once in a process is enough; what failed is not in here, and fails again."""


@dataclass(frozen=True)
class Prepared:
    """A case that is ready to be timed.

    Attributes:
        case: the case.
        segments: callables without arguments that return when their work is done. A forward case has one; the others
            have two, forward under a tape and backward, to be called in turn: `py_function` pops its tape entry. In
            mode node there is one, the graph of copies.
        checked: the errors against the reference.
        copies: of the op in a call; 1 in every mode but node.
        crossing: what crosses the bridge of a callback over this body; None for what is no body alone.
    """

    case: Case
    segments: tuple[Callable[[], Any], ...]
    checked: Checked
    copies: int = 1
    crossing: Crossing | None = None

    @property
    def timed(self) -> tuple[int, ...]:
        """The positions of the segments whose seconds count for the case."""
        return timed_segments(self.case)

    def __call__(self) -> None:
        """Call every segment once, in order."""
        for segment in self.segments:
            segment()


def timed_segments(case: Case) -> tuple[int, ...]:
    """Return the positions of the segments whose seconds count for a case."""
    return (0,) if case.mode == "node" else TIMED_SEGMENTS[case.direction]


@dataclass(frozen=True)
class _Reference:
    """Inputs of an op and what NumPy makes of them; `gradients` are of `output_gradients` through the op."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    output_gradients: tuple[Any, ...]
    gradients: tuple[Any, ...] | None


def prepare(case: Case, *, finite_differences: bool = False) -> Prepared:
    """Return what `prepare_all` does for a case that is one callable: any but those of mode node."""
    (prepared,) = prepare_all(case, finite_differences=finite_differences)
    return prepared


def prepare_all(case: Case, *, finite_differences: bool = False) -> tuple[Prepared, ...]:
    """Build, check and warm one case.

    Cases of mode node run without Grappler, all others with it, and this is state of the process: what was prepared
    for one kind may be called only until a case of the other kind is prepared.

    Args:
        case: what to prepare.
        finite_differences: also check the gradient by finite differences, at a small size; slower.

    Returns:
        The prepared case; in mode node one for each number of copies, ascending.

    Raises:
        WrongResult: values or gradients are not the reference's, or the body writes to what it is given.
        Elided: TensorFlow does not execute all copies of a case of mode node.
        Unsupported: a speculative variant that does not work for this op.
        Exception: whatever the body raises.
    """
    op, variant = load_op(case.op), load_variant(case.variant)
    _hide_accelerators()
    nodes.use_grappler(enabled=case.mode != "node")
    try:
        prepared = _prepare_any(op, variant, case, finite_differences=finite_differences)
    except Elided:
        raise
    except Exception as error:
        if not variant.speculative:
            raise
        raise Unsupported(f"{variant.name} does not work for {op.name}: {describe_error(error)}") from error
    return tuple(_stretched(one, variant.stretch) for one in prepared)


def _stretched(prepared: Prepared, share: float) -> Prepared:
    if not share:
        return prepared
    return replace(prepared, segments=tuple(stretched(segment, share) for segment in prepared.segments))


def stretched(call: Callable[[], Any], share: float, clock: Callable[[], float] = time.perf_counter) -> Body:
    """Return `call` followed by a wait that makes it last 1 + `share` times as long, each time anew.

    Whatever disturbs one call is stretched with it, so that the slowdown is the same share under any noise. Calling
    the wrapper and its two readings of the clock add a tenth or two of a microsecond that no wait can take back.

    Args:
        call: what to slow down.
        share: of its own duration; 0.05 is 5%.
        clock: returns seconds.
    """

    def slowed() -> Any:
        start = clock()
        result = call()
        end = start + (clock() - start) * (1 + share)
        while clock() < end:
            pass
        return result

    return slowed


def _prepare_any(op: Op, variant: Variant, case: Case, *, finite_differences: bool) -> tuple[Prepared, ...]:
    if case.mode == "node":
        return _prepare_nodes(op, variant, case, finite_differences=finite_differences)
    if variant.op is None:
        return (_prepare(op, variant, case, finite_differences=finite_differences),)
    floor = replace(case, op=variant.op.name, size=variant.op.sizes[0], dtype=FLOOR_DTYPE)
    return (replace(_prepare(variant.op, variant, floor, finite_differences=False), case=case),)


def _prepare_nodes(op: Op, variant: Variant, case: Case, *, finite_differences: bool) -> tuple[Prepared, ...]:
    gradient = case.direction != "forward"
    reference = _reference(case.op, case.size, case.dtype)
    incoming = reference.output_gradients if gradient else ()
    tensors, output_gradients = _constants(reference.inputs), _constants(incoming)
    body = nodes.body_of_copy(variant.build(op, case), variant)

    def check(outputs: Any, gradients: Any) -> Checked:
        values = _check_values(op, outputs, reference, case.dtype)
        return Checked(values, _check_gradients(op, gradients, reference, case.dtype) if gradient else None)

    link = partial(nodes.link, op, body, inputs=len(tensors), gradient=gradient)
    calls = nodes.alive_calls(link, (*tensors, *output_gradients), check)
    _check_unchanged("input", tensors, reference.inputs)
    _check_unchanged("output gradient", output_gradients, incoming)
    difference = None
    if gradient and (finite_differences or reference.gradients is None):
        difference = _differences(op, variant, replace(case, mode="call"))  # the same mechanism, attached alike
    return tuple(
        Prepared(case, (call,), replace(checked, finite_difference=difference), copies)
        for copies, (call, checked) in calls.items()
    )


def _prepare(op: Op, variant: Variant, case: Case, *, finite_differences: bool) -> Prepared:
    reference = _reference(case.op, case.size, case.dtype)
    if variant.kind == "part" and variant.op is None:
        return _prepare_part(op, variant, case, reference)
    function = _wrap(variant.build(op, case), variant, case.mode)
    tensors = _constants(reference.inputs)
    if case.direction == "forward":
        call = partial(function, *tensors)
        checked = Checked(_check_values(op, call(), reference, case.dtype))
        _check_unchanged("input", tensors, reference.inputs)
        return Prepared(case, (call,), checked)
    output_gradients = _constants(reference.output_gradients)
    forward, backward = segments = _segments(op, function, tensors, output_gradients)
    values = _check_values(op, forward(), reference, case.dtype)
    checked = Checked(values, _check_gradients(op, backward(), reference, case.dtype))
    _check_unchanged("input", tensors, reference.inputs)
    _check_unchanged("output gradient", output_gradients, reference.output_gradients)
    if finite_differences or checked.gradient is None:
        checked = replace(checked, finite_difference=_differences(op, variant, case))
    return Prepared(case, segments, checked)


def _prepare_part(op: Op, variant: Variant, case: Case, reference: _Reference) -> Prepared:
    on_arrays = variant.body == "numpy"
    # In a graph a callback is given the tensors' own memory, which is aligned.
    given = tuple(map(aligned, reference.inputs)) if on_arrays else _constants(reference.inputs)
    call = partial(variant.build(op, case), *given)
    outputs = as_tuple(call())
    if on_arrays:  # made tensors as a bridge does
        dtypes = op.output_dtypes(case.dtype)
        outputs = _constants([np.asarray(output, dtype) for output, dtype in zip(outputs, dtypes, strict=True)])
    checked = Checked(_check_values(op, outputs, reference, case.dtype))
    _check_unchanged("input", _constants(given), reference.inputs)
    share = aligned_share(lambda: as_tuple(call())[0]) if on_arrays else None
    sent, returned = (sum(array.nbytes for array in arrays) for arrays in (reference.inputs, reference.outputs))
    return Prepared(case, (call,), checked, crossing=Crossing(sent, returned, share))


def _constants(arrays: Sequence[Any]) -> tuple[Any, ...]:
    # tf.constant copies, so that what a body does to a tensor does not reach the reference.
    return tuple(tf.constant(array) for array in arrays)


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
    op: Op, function: Body, tensors: Sequence[Any], output_gradients: Sequence[Any]
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    watched = [tensors[i] for i in op.differentiable]
    recorded: list[Any] = [None, None]

    def forward() -> Any:
        with tf.GradientTape() as tape:
            tape.watch(watched)
            outputs = as_tuple(function(*tensors))
        recorded[0], recorded[1] = tape, [outputs[i] for i in op.floating_outputs]
        return outputs

    def backward() -> Any:
        return recorded[0].gradient(recorded[1], watched, output_gradients=list(output_gradients))

    return forward, backward


def _check_values(op: Op, outputs: Any, reference: _Reference, dtype: str) -> float:
    found = as_tuple(outputs)
    if len(found) != len(reference.outputs):
        raise WrongResult(f"{len(found)} outputs where the reference has {len(reference.outputs)}")
    for i, got in enumerate(found):
        if not tf.is_tensor(got):
            raise WrongResult(f"output {i} is no tensor but of type {type(got).__name__}")
    return max(
        require_equal(f"output {i}", got, expected, op.tolerance[dtype])
        for i, (got, expected) in enumerate(zip(found, reference.outputs, strict=True))
    )


def _check_gradients(op: Op, gradients: Sequence[Any], reference: _Reference, dtype: str) -> float | None:
    if reference.gradients is None:
        return None
    return max(
        require_equal(f"gradient of input {i}", got, expected, op.tolerance[dtype])
        for i, got, expected in zip(op.differentiable, _dense(gradients), reference.gradients, strict=True)
    )


def _dense(gradients: Sequence[Any]) -> list[Any]:
    # The gradient of a gather comes as IndexedSlices, which are no array before they are made one.
    return [None if gradient is None else tf.convert_to_tensor(gradient) for gradient in gradients]


def _check_unchanged(what: str, tensors: Sequence[Any], arrays: Sequence[Any]) -> None:
    # Inside a graph a PyFunc is handed the tensor's own memory, and may write to it.
    for i, (tensor, array) in enumerate(zip(tensors, arrays, strict=True)):
        if tensor.numpy().tobytes() != array.tobytes():
            raise WrongResult(f"{what} {i} is changed by the body: in a graph it writes to the tensor itself")


def _differences(op: Op, variant: Variant, case: Case) -> float:
    key = (case.op, case.variant, case.gradient, case.mode, case.dtype)
    if key not in _checked_differences:
        # A function of its own: one that has been traced for a second shape takes longer to call.
        function = _wrap(variant.build(op, case), variant, case.mode)
        _checked_differences[key] = _check_differences(op, function, case.dtype)
    return _checked_differences[key]


def _check_differences(op: Op, function: Body, dtype: str) -> float:
    size = min((size for size in op.sizes if size >= DIFFERENCE_SIZE), default=max(op.sizes))
    reference = _reference(op.name, size, dtype)
    forward, backward = _segments(op, function, _constants(reference.inputs), _constants(reference.output_gradients))
    forward()
    found = _dense(backward())

    def scalar(*arrays: Any) -> float:
        outputs = as_tuple(function(*_constants(arrays)))
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
        for output, output_dtype in zip(as_tuple(op.numpy(*_copies(inputs))), op.output_dtypes(dtype), strict=True)
    )
    rng = np.random.default_rng([1, size, *op.name.encode()])
    # Away from 1, so that a gradient that ignores what flows into it is found out.
    output_gradients = tuple(
        rng.uniform(0.5, 1.5, outputs[i].shape).astype(outputs[i].dtype) for i in op.floating_outputs
    )
    gradients = None
    if op.numpy_gradient is not None and op.differentiable:
        found = op.numpy_gradient(_copies(inputs), _copies(outputs), _copies(output_gradients))
        gradients = tuple(np.asarray(gradient) for gradient in found)
    return _Reference(inputs, outputs, output_gradients, gradients)


def _copies(arrays: Sequence[Any]) -> tuple[Any, ...]:
    # For a body that writes to what it is given.
    return tuple(np.array(array) for array in arrays)

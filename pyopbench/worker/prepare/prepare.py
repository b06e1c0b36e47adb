"""The only seam for clocks: from a case to a checked, warmed, blocking callable without arguments.

Every clock times what `prepare` returns. `tf.function` wrapping, tapes, checks and warm-up happen here, in `segments`,
`checks`, `gradient_check` and `node_graph`, and nowhere else. On the CPU eager ops and `tf.function` calls return when
their work is done (`tests/worker/prepare/test_prepare.py` checks it), so nothing has to be waited for; `gpu` waits for
a GPU.

The cases of a group are prepared together: each runner once, and in mode node the current callback first. All ports
of a group have graphs of as many copies, so that they share the call's noise equally. How many are enough depends on
what the current callback adds to the empty graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

from pyopbench.model.case import BASELINE, EMPTY, GPU, NO_GRADIENT, Case
from pyopbench.model.errors import Elided, Unsupported, describe_error
from pyopbench.model.op import Op
from pyopbench.model.variant import Variant
from pyopbench.ops.alignment import aligned_as_given
from pyopbench.ops.kernels.simulated_device import is_simulated
from pyopbench.ops.load import load_op, load_variant
from pyopbench.ops.own.explain import explain
from pyopbench.ports.arrays import as_array, as_tuple
from pyopbench.worker.prepare import gpu, node_graph
from pyopbench.worker.prepare.checks import (
    Checked,
    Reference,
    check_gradients,
    check_unchanged,
    check_values,
    dense,
    reference_of,
)
from pyopbench.worker.prepare.gradient_check import check_differences
from pyopbench.worker.prepare.node_graph import OUT_OF_MEMORY, USUAL, enough_copies
from pyopbench.worker.prepare.segments import constants, forward_and_backward, timed_segments, wrap
from pyopbench.worker.prepare.threads import prepare_together


class BlockSource(Protocol):
    """What makes and times the calls of a block by itself: several threads, or a pipeline, whose calls are elements."""

    def expected_seconds(self, seconds: float) -> float:
        """Return about how long a block for `seconds` lasts."""

    def block(self, seconds: float) -> tuple[int, float]:
        """Call for about so many seconds; return how many calls were made, and the seconds that they count for."""

    def waits(self) -> dict[str, float | None] | None:
        """Return how long callers waited in all blocks so far, by quantile, and their `calls`; None is not known."""


@dataclass(frozen=True)
class Prepared:
    """A case that is ready to be timed.

    Attributes:
        segments: callables without arguments that return when their work is done. A forward case has one; the others
            have two, forward under a tape and backward, to be called in turn: `py_function` pops its tape entry. In
            mode node there is one, the graph of copies.
        stretch: how much longer each block is to last, as a share of what it costs: in mode node of what it takes
            beyond the empty graph. For controls.
    """

    case: Case
    segments: tuple[Callable[[], Any], ...]
    checked: Checked
    copies: int = 1  # of the op in a call; the empty graph of mode node has 0
    stretch: float = 0.0
    call_seconds: float | None = None  # about how long a call takes, where that was measured
    source: BlockSource | None = None  # times its own blocks, where a row of calls by one thread is not what is timed

    @property
    def timed(self) -> tuple[int, ...]:
        """The positions of the segments whose seconds count for the case."""
        return timed_segments(self.case)

    def __call__(self) -> None:
        """Call every segment once, in order."""
        for segment in self.segments:
            segment()


def prepare(case: Case, *, finite_differences: bool = False, copies: int = USUAL) -> Prepared:
    """Build, check and warm one case.

    Cases of mode node run without Grappler, all others with it, and this is state of the process: what was prepared
    for one kind may be called only until a case of the other kind is prepared.

    Args:
        case: what to prepare.
        finite_differences: also check the gradient by finite differences, at a small size; slower.
        copies: of a port in mode node; a callback has one.

    Raises:
        WrongResult: values or gradients are not the reference's, or the body writes to what it is given.
        Elided: TensorFlow does not execute all copies of a case of mode node.
        Unsupported: what nobody wrote for this op does not work for it, or a process that has the simulated device.
    """
    op, variant = load_op(case.op), load_variant(case.variant)
    with preparing(op, variant, case):
        if variant.role == "empty":
            prepared = _prepare_empty(op, variant, case)
        elif variant.role == "body_alone":
            prepared = _prepare_part(op, variant, case)
        elif case.mode == "node":
            # One copy of a callback or its A/A control: its call wakes threads and Python; later copies would not.
            prepared = _prepare_node(op, variant, case, 1 if variant.kind == "callback" else copies)
        elif case.threads is not None:
            together, checked = prepare_together(op, variant, case)
            prepared = Prepared(case, (together,), checked, source=together)
        else:
            prepared = _prepare_variant(op, variant, case)
        differentiated = _differentiated(op, variant, case)
        if differentiated is not None and (finite_differences or prepared.checked.gradient is None):
            prepared = replace(prepared, checked=check_differences(prepared.checked, op, variant, differentiated))
    return replace(prepared, stretch=variant.stretch)


@contextmanager
def preparing(op: Op, variant: Variant, case: Case) -> Iterator[None]:
    """Put the process into the state that a case is prepared and called in; what fails within says why.

    Raises:
        Unsupported: a process that has the simulated device; or what nobody wrote for this op does not work for it.
    """
    if is_simulated():
        raise Unsupported("nothing is timed in a process with the simulated device")
    gpu.use_device(case.placement)
    node_graph.use_grappler(enabled=case.mode != "node")
    try:
        yield
    except Elided:
        raise
    except Exception as error:
        if not variant.is_attempt_for(op):
            raise
        raise Unsupported(explain(error, op)) from error


def _differentiated(op: Op, variant: Variant, case: Case) -> Case | None:
    """Return the case whose gradient finite differences check, None where there is none."""
    if variant.role in ("empty", "body_alone"):
        return None
    if case.direction != "forward":
        return case if case.mode == "eager" else replace(case, mode="call")  # the same mechanism, attached alike
    if variant.is_port and "autodiff" in variant.gradients and op.lacks_gradient:
        # Timed nowhere, for want of a gradient to compare with, and has to be right all the same.
        return replace(case, mode="call", direction="backward", gradient="autodiff")
    return None


def _prepare_empty(op: Op, variant: Variant, case: Case) -> Prepared:
    reference = reference_of(case.op, case.size, case.dtype)
    arguments = (*constants(reference.inputs), *constants(_incoming(case, reference)))
    call = partial(wrap(variant.build(op, case), variant, case.mode), *arguments)
    call()
    return Prepared(case, (call,), Checked(0.0), copies=0, call_seconds=node_graph.shortest_call(call))


def _incoming(case: Case, reference: Reference) -> tuple[Any, ...]:
    """Return the output gradients that a graph of copies is given."""
    return reference.output_gradients if case.direction != "forward" else ()


def _prepare_node(op: Op, variant: Variant, case: Case, copies: int) -> Prepared:
    reference = reference_of(case.op, case.size, case.dtype)
    incoming = _incoming(case, reference)
    tensors, output_gradients = constants(reference.inputs), constants(incoming)
    body = node_graph.body_of_copy(variant.build(op, case), variant)

    def check(outputs: Any, gradients: Any) -> Checked:
        values = check_values(op, outputs, reference, case.dtype)
        has_gradient = case.direction != "forward"
        return Checked(values, check_gradients(op, gradients, reference, case.dtype) if has_gradient else None)

    link = partial(node_graph.link, op, body, inputs=len(tensors))
    graph = node_graph.alive_graph(link, copies, (*tensors, *output_gradients), check)
    check_unchanged("input", tensors, reference.inputs)
    check_unchanged("output gradient", output_gradients, incoming)
    return Prepared(case, (graph.call,), graph.checked, graph.copies, call_seconds=graph.seconds)


def _prepare_variant(op: Op, variant: Variant, case: Case) -> Prepared:
    reference = reference_of(case.op, case.size, case.dtype)
    on_gpu = case.placement == GPU
    place, enter = (gpu.constants_on_gpu, gpu.wrap_on_gpu) if on_gpu else (constants, wrap)
    function = enter(variant.build(op, case), variant, case.mode)
    tensors = place(reference.inputs)
    if case.direction == "forward":
        (call,) = _blocking((partial(function, *tensors),), case)
        outputs = as_tuple(call())
        _require_there(case, "output", outputs)
        checked = Checked(check_values(op, outputs, reference, case.dtype))
        check_unchanged("input", tensors, reference.inputs)
        return Prepared(case, (call,), checked)
    output_gradients = place(reference.output_gradients)
    forward, backward = forward_and_backward(op, function, tensors, output_gradients)
    if on_gpu and variant.is_callback:
        backward = gpu.with_gradients_on_gpu(backward)
    forward, backward = segments = _blocking((forward, backward), case)
    outputs = as_tuple(forward())
    gradients = backward()
    _require_there(case, "output", outputs)
    _require_there(case, "gradient", dense(gradients))
    checked = Checked(
        check_values(op, outputs, reference, case.dtype), check_gradients(op, gradients, reference, case.dtype)
    )
    check_unchanged("input", tensors, reference.inputs)
    check_unchanged("output gradient", output_gradients, reference.output_gradients)
    return Prepared(case, segments, checked)


def _blocking(segments: Sequence[Callable[[], Any]], case: Case) -> tuple[Callable[[], Any], ...]:
    return tuple(map(gpu.wait_after, segments)) if case.placement == GPU else tuple(segments)


def _require_there(case: Case, what: str, tensors: Sequence[Any]) -> None:
    if case.placement == GPU:
        gpu.require_there(what, tensors)


def _prepare_part(op: Op, variant: Variant, case: Case) -> Prepared:
    reference = reference_of(case.op, case.size, case.dtype)
    on_arrays = variant.body == "numpy"
    # In a graph a callback is given the tensors' own memory, which is aligned.
    given = aligned_as_given(reference.inputs) if on_arrays else constants(reference.inputs)
    call = partial(variant.build(op, case), *given)
    outputs = as_tuple(call())
    if on_arrays:  # made tensors as a bridge does
        dtypes = op.output_dtypes(case.dtype)
        outputs = constants([as_array(output, dtype) for output, dtype in zip(outputs, dtypes, strict=True)])
    checked = Checked(check_values(op, outputs, reference, case.dtype))
    check_unchanged("input", constants(tuple(map(as_array, given))), reference.inputs)
    return Prepared(case, (call,), checked)


Runners: TypeAlias = dict[str, Prepared | Exception]
"""By `Case.runner`: what is to be timed, or why it cannot be."""


class OutOfMemory(Exception):
    """A case wanted more memory than there is; what is asked of this process later would fail for want of it."""

    def __init__(self, case: Case, error: BaseException) -> None:
        super().__init__(case.id)
        self.case = case.id
        self.reason = describe_error(error)


def prepare_group(
    cases: Sequence[Case],
    *,
    finite_differences: bool = False,
    at: Callable[[Case], object] = lambda case: None,
) -> Runners:
    """Prepare the cases of one group, in their order, but for those that tell the number of copies.

    Several cases of one runner are prepared once. `at` is called with each case before it is prepared.

    Raises:
        OutOfMemory: a case wanted more memory than there is.
    """
    by_runner = {case.runner: case for case in reversed(cases)}
    left = {case.runner: by_runner[case.runner] for case in cases}
    runners: Runners = {}

    def prepare_runner(case: Case, copies: int = USUAL) -> None:
        at(case)
        try:
            runners[case.runner] = prepare(case, finite_differences=finite_differences, copies=copies)
        except OUT_OF_MEMORY as error:
            raise OutOfMemory(case, error) from error
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            runners[case.runner] = error

    copies = USUAL
    callbacks = [case for case in left.values() if load_variant(case.variant).is_callback]
    if cases[0].mode == "node" and callbacks:
        at(callbacks[0])
        empty: Prepared | Exception
        try:  # a body that fails at this size fails here first
            empty = prepare(_empty(callbacks[0]))
        except OUT_OF_MEMORY as error:
            raise OutOfMemory(callbacks[0], error) from error
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            empty = error
        # The current callback decides how many copies are enough; without one that works, the slowest one does.
        for callback in sorted(callbacks, key=lambda case: case.variant != BASELINE):
            prepare_runner(callback)
            if callback.variant == BASELINE and isinstance(runners[callback.runner], Prepared):
                break
        seconds = [one.call_seconds or 0.0 for one in runners.values() if isinstance(one, Prepared)]
        if seconds and isinstance(empty, Prepared):
            copies = enough_copies(empty.call_seconds or 0.0, max(seconds))
        if _empty(callbacks[0]).runner in left:
            runners[_empty(callbacks[0]).runner] = empty
    for runner, case in left.items():
        if runner not in runners:
            prepare_runner(case, copies)
    return runners


def _empty(case: Case) -> Case:
    return replace(case, variant=EMPTY, gradient=NO_GRADIENT)


def prepare_in_graph(case: Case) -> tuple[Prepared, Prepared]:
    """Prepare one case of mode node, for clocks that time nothing else.

    Returns:
        The empty graph, and the graph of copies that is to be compared with it; its `copies` says of how many.
    """
    empty = _empty(case)
    runners = prepare_group((empty, case))
    return _require_prepared(runners[empty.runner]), _require_prepared(runners[case.runner])


def _require_prepared(runner: Prepared | Exception) -> Prepared:
    if isinstance(runner, Exception):
        raise runner
    return runner

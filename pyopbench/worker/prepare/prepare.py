"""The only seam for clocks: from a case to a checked, warmed, blocking callable without arguments.

Every clock times what `prepare` returns, or `prepare_all` where a case has several callables. `tf.function` wrapping,
tapes, checks and warm-up happen here, in `segments`, `checks`, `gradient_check` and `node_graph`, and nowhere
else. On the CPU eager ops and `tf.function` calls return when their work is done
(`tests/worker/prepare/test_prepare.py` checks it), so nothing has to be waited for; `gpu` waits for a GPU.

The cases of a group are prepared together: each runner once, and in mode node the current callback first. All ports
of a group have graphs of as many copies, so that they share the call's noise equally. How many are enough is seen
from what the current callback adds to the empty graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeAlias

from pyopbench.model.case import BASELINE, EMPTY, GPU, NO_GRADIENT, Case
from pyopbench.model.errors import Elided, Unsupported
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
from pyopbench.worker.prepare.node_graph import (
    OUT_OF_MEMORY,
    SECOND,
    USUAL,
    copies_of,
    enough_copies,
)
from pyopbench.worker.prepare.segments import constants, forward_and_backward, timed_segments, wrap
from pyopbench.worker.prepare.threads import alone, prepare_together


class BlockSource(Protocol):
    """What makes and times the calls of a block by itself: several threads, or a pipeline, whose calls are elements."""

    def __call__(self) -> None:
        """Call once, or as few times as can be."""

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
        case: the case.
        segments: callables without arguments that return when their work is done. A forward case has one; the others
            have two, forward under a tape and backward, to be called in turn: `py_function` pops its tape entry. In
            mode node there is one, the graph of copies.
        checked: the errors against the reference.
        copies: of the op in a call; 1 in every mode but node, where the empty graph has 0.
        stretch: how much longer each block is to last, as a share of what it costs: in mode node of what it takes
            beyond the empty graph. For controls.
        call_seconds: about how long a call takes, where that was looked at.
        source: what times its own blocks, where a row of calls by one thread is not what is to be timed.
    """

    case: Case
    segments: tuple[Callable[[], Any], ...]
    checked: Checked
    copies: int = 1
    stretch: float = 0.0
    call_seconds: float | None = None
    source: BlockSource | None = None

    @property
    def timed(self) -> tuple[int, ...]:
        """The positions of the segments whose seconds count for the case."""
        return timed_segments(self.case)

    def __call__(self) -> None:
        """Call every segment once, in order."""
        for segment in self.segments:
            segment()


def prepare(case: Case, *, finite_differences: bool = False) -> Prepared:
    """Return what `prepare_all` does for a case that is one callable: any but those of mode node."""
    (prepared,) = prepare_all(case, finite_differences=finite_differences)
    return prepared


def prepare_all(
    case: Case, *, finite_differences: bool = False, copies: tuple[int, ...] | None = None
) -> tuple[Prepared, ...]:
    """Build, check and warm one case.

    Cases of mode node run without Grappler, all others with it, and this is state of the process: what was prepared
    for one kind may be called only until a case of the other kind is prepared.

    Args:
        case: what to prepare.
        finite_differences: also check the gradient by finite differences, at a small size; slower.
        copies: in mode node, which graphs to make; None for those of a group of which nothing is known.

    Returns:
        The prepared case; in mode node one for each number of copies, ascending.

    Raises:
        WrongResult: values or gradients are not the reference's, or the body writes to what it is given.
        Elided: TensorFlow does not execute all copies of a case of mode node.
        Unsupported: what nobody wrote for this op does not work for it, or a process that has the simulated device.
        Exception: whatever the body raises.
    """
    op, variant = load_op(case.op), load_variant(case.variant)
    with preparing(op, variant, case):
        graphs = copies or copies_of(callback=variant.crosses_bridge)
        prepared = _prepare_any(op, variant, case, graphs, finite_differences=finite_differences)
    return tuple(replace(one, stretch=variant.stretch) for one in prepared)


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


def _prepare_any(
    op: Op, variant: Variant, case: Case, copies: tuple[int, ...], *, finite_differences: bool
) -> tuple[Prepared, ...]:
    if variant.is_empty:
        return (_prepare_empty(op, variant, case),)
    if case.mode == "node" and not variant.is_body_alone:
        return _prepare_nodes(op, variant, case, copies, finite_differences=finite_differences)
    if case.threads is not None:
        return (_prepare_together(op, variant, case, finite_differences=finite_differences),)
    return (_prepare_variant(op, variant, case, finite_differences=finite_differences),)


def _prepare_empty(op: Op, variant: Variant, case: Case) -> Prepared:
    reference = reference_of(case.op, case.size, case.dtype)
    arguments = (*constants(reference.inputs), *constants(_incoming(case, reference)))
    call = partial(wrap(variant.build(op, case), variant, case.mode), *arguments)
    call()
    return Prepared(case, (call,), Checked(0.0), copies=0, call_seconds=node_graph.shortest_call(call))


def _incoming(case: Case, reference: Reference) -> tuple[Any, ...]:
    """Return the output gradients that a graph of copies is given."""
    return reference.output_gradients if case.direction != "forward" else ()


def _prepare_nodes(
    op: Op, variant: Variant, case: Case, copies: tuple[int, ...], *, finite_differences: bool
) -> tuple[Prepared, ...]:
    gradient = case.direction != "forward"
    reference = reference_of(case.op, case.size, case.dtype)
    incoming = _incoming(case, reference)
    tensors, output_gradients = constants(reference.inputs), constants(incoming)
    body = node_graph.body_of_copy(variant.build(op, case), variant)

    def check(outputs: Any, gradients: Any) -> Checked:
        values = check_values(op, outputs, reference, case.dtype)
        return Checked(values, check_gradients(op, gradients, reference, case.dtype) if gradient else None)

    link = partial(node_graph.link, op, body, inputs=len(tensors))
    graphs = node_graph.alive_graphs(link, copies, (*tensors, *output_gradients), check)
    check_unchanged("input", tensors, reference.inputs)
    check_unchanged("output gradient", output_gradients, incoming)
    checked = [graph.checked for graph in graphs]
    if gradient and (finite_differences or reference.gradients is None):
        alike = replace(case, mode="call")  # the same mechanism, attached alike
        checked = [check_differences(one, op, variant, alike) for one in checked]
    return tuple(
        Prepared(case, (graph.call,), errors, graph.copies, call_seconds=graph.seconds)
        for graph, errors in zip(graphs, checked, strict=True)
    )


def _prepare_together(op: Op, variant: Variant, case: Case, *, finite_differences: bool) -> Prepared:
    together, checked = prepare_together(op, variant, case)
    if case.direction != "forward" and (finite_differences or checked.gradient is None):
        checked = check_differences(checked, op, variant, alone(case))
    return Prepared(case, (together,), checked, source=together)


def _prepare_variant(op: Op, variant: Variant, case: Case, *, finite_differences: bool) -> Prepared:
    reference = reference_of(case.op, case.size, case.dtype)
    if variant.is_body_alone:
        return _prepare_part(op, variant, case, reference)
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
        if _has_only_differences(op, variant):
            checked = check_differences(checked, op, variant, _as_gradient(case))
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
    if finite_differences or checked.gradient is None:
        checked = check_differences(checked, op, variant, case)
    return Prepared(case, segments, checked)


def _has_only_differences(op: Op, variant: Variant) -> bool:
    """Is the gradient of a port timed nowhere, for want of one to compare with, and has to be right all the same?"""
    return variant.is_port and "autodiff" in variant.gradients and op.lacks_gradient


def _as_gradient(case: Case) -> Case:
    return replace(case, direction="backward", gradient="autodiff")


def _blocking(segments: Sequence[Callable[[], Any]], case: Case) -> tuple[Callable[[], Any], ...]:
    return tuple(map(gpu.waiting, segments)) if case.placement == GPU else tuple(segments)


def _require_there(case: Case, what: str, tensors: Sequence[Any]) -> None:
    if case.placement == GPU:
        gpu.require_there(what, tensors)


def _prepare_part(op: Op, variant: Variant, case: Case, reference: Reference) -> Prepared:
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


Runners: TypeAlias = dict[str, tuple[Prepared, ...] | Exception]
"""By `Case.runner`: what is to be timed, ascending by copies, or why it cannot be."""


@dataclass(frozen=True)
class Asked:
    """How a group is prepared.

    Attributes:
        finite_differences: also check gradients by finite differences.
        further: in mode node, callbacks have a graph of `SECOND` copies beside that of one, which shows what each
            further one costs.
        copies: of the graphs in mode node; None to see how many are enough.
        at: is told each case before it is prepared.
        pipeline: what pipelines are prepared by, as `pipeline.measure.prepare_pipelines` takes it.
    """

    finite_differences: bool = False
    further: bool = True
    copies: int | None = None
    at: Callable[[Case], object] = field(default=lambda case: None)
    pipeline: Mapping[str, Any] = field(default_factory=dict)


def prepare_group(cases: Sequence[Case], asked: Asked) -> Runners:
    """Prepare the cases of one group, in their order, but for those that tell the number of copies.

    Args:
        cases: of one group; several of one runner are prepared once.
        asked: how.

    Returns:
        What came of each runner.

    Raises:
        MemoryError: a case wanted more memory than there is; it is the one that `at` was told last.
        ResourceExhaustedError: the same, from TensorFlow.
    """
    if cases[0].arrangement:
        return _prepare_pipelines(cases, asked)
    runners = {case.runner: case for case in reversed(cases)}
    left = {case.runner: runners[case.runner] for case in cases}
    found: Runners = {}
    enough = asked.copies
    if cases[0].mode == "node" and enough is None:
        enough = _prepare_deciders(left, asked, found)
    for runner, case in left.items():
        if runner not in found:
            found[runner] = _prepare_runner(case, asked, _copies(case, asked, enough))
    return found


def _prepare_pipelines(cases: Sequence[Case], asked: Asked) -> Runners:
    # Process pools and batches, which no other case needs.
    from pyopbench.worker.pipeline.measure import prepare_pipelines

    by_runner = {case.runner: case for case in cases}
    found: Runners = {}
    for runner, made in prepare_pipelines(cases, asked.pipeline, asked.at).items():
        if isinstance(made, Exception):
            found[runner] = made
        else:
            found[runner] = (Prepared(by_runner[runner], (made,), Checked(made.largest_error), source=made),)
    return found


def prepare_in_graph(case: Case) -> tuple[Prepared, Prepared]:
    """Prepare one case of mode node, for clocks that time nothing beside it.

    Args:
        case: in mode node.

    Returns:
        The empty graph, and the graph of copies that is to be held against it; its `copies` says of how many.

    Raises:
        Exception: as `prepare_all`.
    """
    empty = replace(case, variant=EMPTY, gradient=NO_GRADIENT)
    runners = prepare_group((empty, case), Asked(further=False))
    found: list[Prepared] = []
    for one in (empty, case):
        made = runners[one.runner]
        if isinstance(made, Exception):
            raise made
        found += made
    nothing, graph = found
    return nothing, graph


def _copies(case: Case, asked: Asked, enough: int | None) -> tuple[int, ...] | None:
    callback = load_variant(case.variant).crosses_bridge
    if callback and not asked.further:
        return (1,)
    return None if enough is None else copies_of(callback=callback, enough=enough)


def _prepare_runner(case: Case, asked: Asked, copies: tuple[int, ...] | None) -> tuple[Prepared, ...] | Exception:
    asked.at(case)
    try:
        return prepare_all(case, finite_differences=asked.finite_differences, copies=copies)
    except OUT_OF_MEMORY:
        raise
    except Exception as error:  # noqa: BLE001 - a body may raise anything
        return error


def _prepare_deciders(cases: Mapping[str, Case], asked: Asked, found: Runners) -> int:
    """Prepare the empty graph and the current callback, else all callbacks, and return how many copies are enough."""
    callbacks = [case for case in cases.values() if load_variant(case.variant).is_callback]
    if not callbacks:
        return USUAL
    empty = _empty_seconds(callbacks[0], cases, asked, found)
    current = [case for case in callbacks if case.variant == BASELINE]
    seconds = _seconds_of_one(current, asked, found) or _seconds_of_one(
        [case for case in callbacks if case not in current], asked, found
    )
    if not seconds:
        return USUAL
    enough = enough_copies(empty, max(seconds))
    for runner, made in found.items():
        if isinstance(made, tuple) and made[0].copies and enough > 1 and asked.further:
            found[runner] = _with_second(made, asked)
    return enough


def _empty_seconds(beside: Case, cases: Mapping[str, Case], asked: Asked, found: Runners) -> float:
    case = replace(beside, variant=EMPTY, gradient=NO_GRADIENT)
    asked.at(case if case.runner in cases else beside)
    (empty,) = prepare_all(case)
    if case.runner in cases:
        found[case.runner] = (empty,)
    return call_seconds(empty)


def _seconds_of_one(cases: Iterable[Case], asked: Asked, found: Runners) -> list[float]:
    """Prepare graphs of one copy, and return how long calls of those take of which nothing is wrong."""
    for case in cases:
        found[case.runner] = _prepare_runner(case, asked, (1,))
    made = (found[case.runner] for case in cases)
    return [call_seconds(one[0]) for one in made if isinstance(one, tuple)]


def call_seconds(prepared: Prepared) -> float:
    """Return how long a call takes, as it was seen when the graph was made."""
    assert prepared.call_seconds is not None
    return prepared.call_seconds


def _with_second(made: tuple[Prepared, ...], asked: Asked) -> tuple[Prepared, ...] | Exception:
    """Add to the graph of one copy of a callback the one of two, unless that takes too long."""
    more = _prepare_runner(made[0].case, asked, (SECOND,))
    return (*made, *(one for one in more if one.copies > 1)) if isinstance(more, tuple) else more

"""What a form is: a way of arranging the body of an op in a pipeline, in one or several arrangements.

`PipelineContext` is what all of them are made from.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.errors import Unsupported
from pyopbench.model.portable import PORTABLE
from pyopbench.ops.load import load_variant, load_variants
from pyopbench.ops.own.explain import explain
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.arrays import as_tuple
from pyopbench.ports.porting.refusal import CannotPort
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.batched_forms import BatchedForm
from pyopbench.worker.prepare.segments import wrap

if TYPE_CHECKING:
    from pyopbench.worker.pipeline.program import Program


@dataclass(frozen=True)
class PipelineSettings:
    """What arrangements are made for.

    Attributes:
        parallel: values of `num_parallel_calls`; `AUTOTUNE` is one.
        batch: elements of a batch that goes into one callback; none if batches are not wanted.
        processes: worker processes of a pool.
    """

    parallel: tuple[int, ...]
    batch: tuple[int, ...]
    processes: int


class PipelineContext:
    """What the arrangements of one worker share: elements, settings, batched forms of the op, and process pools.

    Batched forms are checked and pools are started when they are first asked for.

    Attributes:
        elements: what goes through every pipeline.
        settings: what arrangements are made for.
        program: the user's own pipeline, in which the arrangements are measured; None for the op alone.
        start_seconds: how long starting the processes took, by the key of the arrangement.
        kept: pipelines that must not be freed while they run.
    """

    def __init__(self, elements: Elements, settings: PipelineSettings, program: Program | None = None) -> None:
        """Start nothing yet."""
        self.elements, self.settings, self.program = elements, settings, program
        self.start_seconds: dict[str, float] = {}
        self.kept: list[Any] = []
        self._pools: dict[str, Any] = {}

    @cached_property
    def whole(self) -> BatchedForm:
        """The body called once with a whole batch, checked on the first elements; pipelines check all of them later."""
        return self.elements.whole_batch()

    def file_call(self, key: str) -> Callable[..., tf.data.Dataset]:
        """Return `arrange` of the file of an arrangement.

        Raises:
            CannotPort: the arrangement cannot be written as a file.
        """
        case = self.elements.case
        return PORTS.call_of(self.elements.op, key, case.dtype, case.variant)

    def pool(self, key: str) -> Any:
        """Return the pool of the file of an arrangement, and start it if necessary.

        Raises:
            CannotPort: the arrangement cannot be written as a file.
            RuntimeError: a process of the pool ended before it had loaded the body.
        """
        if key not in self._pools:
            module = sys.modules[self.file_call(key).__module__]
            start = time.perf_counter()
            self._pools[key] = module.Pool(self.settings.processes)
            self.start_seconds[key] = time.perf_counter() - start
        return self._pools[key]

    @property
    def is_busy(self) -> bool:
        """Is any process of a pool working?"""
        return any(one.is_busy for one in self._pools.values())

    def close(self) -> None:
        """End the pools, if there are any. May be called twice."""
        while self._pools:
            self._pools.popitem()[1].close()


Build = Callable[[PipelineContext], tf.data.Dataset]
"""Returns elements without end, as `(*outputs, numbers)`: one by one, or in batches of `Arrangement.batch`."""


def calls_of(parallel: int) -> int | None:
    """Return what `num_parallel_calls` takes: None for calls one after another."""
    if parallel == AUTOTUNE:
        return int(tf.data.AUTOTUNE)
    return parallel if parallel > 1 else None


def mapped(source: tf.data.Dataset, work: Callable[..., Any], arrangement: Arrangement) -> tf.data.Dataset:
    """Return a dataset mapped as an arrangement says; the number of each element follows what `work` returns."""

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def numbered(*element: Any) -> tuple[Any, ...]:
        return (*work(*element[:-1]), element[-1])

    return source.map(numbered, num_parallel_calls=calls_of(arrangement.parallel))


MOST_BATCH_SECONDS = 0.25
"""A batch that takes longer than that would leave no time for anything else; so slow a body gains nothing by it."""

USUAL_BATCH = 32


def why_no_batch(elements: Elements, batch: int) -> str | None:
    """Return why there is no batch of so many elements, or None."""
    if not elements.stacks:
        return "outputs of different shapes cannot be put into a batch"
    seconds = batch * elements.body_seconds
    if seconds > MOST_BATCH_SECONDS and batch > 1:
        return f"a batch of {batch} would take {seconds:.1f} s; left out from {MOST_BATCH_SECONDS:g} s on"
    return None


def usual_batch(settings: PipelineSettings) -> int:
    """Return the single batch size for an arrangement that gains from the first few dozen elements, and not from more.

    0 if batches are not wanted.
    """
    if USUAL_BATCH in settings.batch:
        return USUAL_BATCH
    return settings.batch[-1] if settings.batch else 0


def size_effort(batch: int) -> float:
    """Return what a larger batch counts for beside the effort: of two that are as good, the smaller takes less memory.

    Less than any difference between forms: 0.08 for 256 elements.
    """
    return 0.01 * math.log2(batch)


def function_of(elements: Elements, name: str) -> Callable[..., tuple[Any, ...]]:
    """Return a variant as a function of the tensors of one element, compiled as the variant says.

    Raises:
        Unsupported: the variant does not exist for the op; with the reason.
    """
    variant = load_variant(name)
    case = replace(elements.case, variant=name)
    reason = why_not(elements.op, variant, case)
    if reason:
        raise Unsupported(reason)
    function = wrap(variant.build(elements.op, case), variant, "call")

    def called(*inputs: Any) -> tuple[Any, ...]:
        try:
            return as_tuple(function(*inputs))
        except Exception as error:
            if not variant.is_attempt_for(elements.op):
                raise
            raise Unsupported(explain(error, elements.op)) from error

    return called


def written_module(arrangement: Arrangement, context: PipelineContext) -> Any:
    """Return the module of the file that `pyopbench port` writes for an arrangement.

    None for code that the user has already written: their own ports and callbacks, such as `native`, and the current
    callback, for which a file cannot always be written.

    Raises:
        Unsupported: it cannot be written, or is not right; with the reason.
    """
    is_own = bool(arrangement.variant) and arrangement.variant not in PORTABLE
    if is_own and arrangement.form != "switch":
        return None
    if arrangement.form == "batch_body" and context.whole.call is None:
        raise Unsupported(f"the body is not right for a whole batch: {context.whole.reason}")
    try:
        return sys.modules[context.file_call(arrangement.key).__module__]
    except CannotPort as refusal:
        if arrangement.form == "map" or is_own:
            return None
        raise Unsupported(f"it cannot be written as a file: {refusal.why}") from refusal


def from_file(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    """Return the elements, or batches of them, arranged by the file that `pyopbench port` writes.

    Functions without a file, because the user has written them, are called directly.

    Raises:
        Unsupported: it cannot be written; with the reason.
    """
    module = written_module(arrangement, context)
    if module is None:
        return in_map(context, arrangement.variant or context.elements.case.variant, arrangement)
    source = context.elements.source()
    if arrangement.batch:
        source = source.batch(arrangement.batch, drop_remainder=True)
    more = {"pool": context.pool(arrangement.key)} if arrangement.action == "processes" else {}
    arranged: tf.data.Dataset = module.arrange(source, **more)
    return arranged


def in_map(context: PipelineContext, name: str, arrangement: Arrangement) -> tf.data.Dataset:
    """Return the elements with a variant in `map`, each for itself."""
    elements = context.elements
    function = function_of(elements, name)

    def work(*inputs: Any) -> tuple[Any, ...]:
        return elements.shaped(function(*inputs))

    return mapped(elements.source(), work, arrangement)


def is_attempt(elements: Elements, name: str) -> bool:
    """Did nobody write this variant for the op?"""
    return load_variant(name).is_attempt_for(elements.op)


def variants_for(elements: Elements, kind: str) -> Sequence[tuple[str, float, str | None]]:
    """Return the variants of a kind that a run would measure for the op: name, effort, and why not, if not.

    Args:
        elements: for their op, size and dtype.
        kind: `callback` or `port`.
    """
    op, current = elements.op, elements.case.variant
    found = []
    for name, variant in load_variants().items():
        wanted = variant.is_port if kind == "port" else variant.is_callback
        if wanted and variant.is_usual_for(op) and name != current:
            reason = why_not(op, variant, replace(elements.case, variant=name))
            found.append((name, float(variant.effort), reason))
    return found

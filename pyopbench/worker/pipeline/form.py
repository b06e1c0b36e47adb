"""What a form is: a way of arranging the body of an op in a pipeline, in one or several arrangements.

`PipelineContext` is what all of them are made from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.model.errors import Unsupported
from pyopbench.model.op import Body
from pyopbench.ops.load import load_variant, load_variants
from pyopbench.ops.own.explain import explain
from pyopbench.ports.arrays import as_tuple
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.process_pool import PoolBroken, ProcessPool
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.batched_forms import BatchedForm
from pyopbench.worker.prepare.segments import wrap


@dataclass(frozen=True)
class PipelineSettings:
    """What arrangements are made for.

    Attributes:
        parallel: values of `num_parallel_calls`; `AUTOTUNE` is one.
        batch: elements of a batch that goes into one callback.
        deterministic: do elements keep their order?
        processes: worker processes of a pool.
        private_threads: of a thread pool that is each pipeline's own; 0 for the one that all of TensorFlow shares.
    """

    parallel: tuple[int, ...]
    batch: tuple[int, ...]
    deterministic: bool
    processes: int
    private_threads: int = 0


class PipelineContext:
    """What arrangements of one worker share: elements, settings, batched forms of the op, and a pool of processes.

    Batched forms are checked and the pool is started when they are first asked for.

    Attributes:
        elements: what goes through every pipeline.
        settings: what arrangements are made for.
        start_seconds: what starting the processes of a form took, where they are not those of the pool.
        kept: pipelines that must not be freed while they run.
    """

    def __init__(self, elements: Elements, settings: PipelineSettings) -> None:
        """Start nothing yet."""
        self.elements, self.settings = elements, settings
        self.start_seconds: dict[str, float] = {}
        self.kept: list[Any] = []
        self._batched: dict[str, BatchedForm] = {}
        self._pool: ProcessPool | None = None

    def batched_form(self, name: str) -> BatchedForm:
        """Return a batched form of the op, checked on the first elements; the pipeline checks all of them later.

        Args:
            name: as `prepare.batched_forms` names it.
        """
        if name not in self._batched:
            self._batched[name] = self.elements.batched_form(name)
        return self._batched[name]

    @property
    def pool(self) -> ProcessPool:
        """The pool of processes, started where it is not; a new one in place of one that broke.

        To be asked for by the main thread alone: Linux ends the processes with the thread that started them.

        Raises:
            BodyRaised, PoolBroken: it cannot be started.
        """
        if self._pool is not None and self._pool.is_broken:
            self.close()
        if self._pool is None:
            self._pool = ProcessPool(self.elements, self.settings.processes)
        return self._pool

    def start_pool(self) -> None:
        """Start the pool, where that has not been done, so that no pipeline waits for it; raises as `pool`."""
        _ = self.pool

    def call_pool(self, columns: Sequence[Any]) -> tuple[Any, ...]:
        """Return what a process of the pool makes of each row of a batch, as `ProcessPool.call`; by any thread.

        Raises:
            PoolBroken: also where `start_pool` was not called since it broke.
        """
        pool = self._pool
        if pool is None:
            raise PoolBroken("the pool has been closed")
        return pool.call(columns)

    @property
    def is_busy(self) -> bool:
        """Is any process of the pool at work?"""
        return self._pool is not None and self._pool.is_busy

    def close(self) -> None:
        """End the pool, if there is one. May be called twice."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None


Build = Callable[[PipelineContext], tf.data.Dataset]
"""Returns elements without end, as `(numbers, *outputs)`: one by one, or in batches of `Arrangement.batch`."""


def calls_of(parallel: int) -> int | None:
    """Return what `num_parallel_calls` takes: None for calls one after another."""
    if parallel == AUTOTUNE:
        return int(tf.data.AUTOTUNE)
    return parallel if parallel > 1 else None


def mapped(
    source: tf.data.Dataset, work: Callable[..., Any], arrangement: Arrangement, settings: PipelineSettings
) -> tf.data.Dataset:
    """Return a dataset mapped as an arrangement says, with the number of each element beside what `work` returns."""

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def numbered(number: Any, *inputs: Any) -> tuple[Any, ...]:
        return (number, *work(*inputs))

    calls = calls_of(arrangement.parallel)
    deterministic = None if calls is None else settings.deterministic
    return source.map(numbered, num_parallel_calls=calls, deterministic=deterministic)


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
    """Return the one size of a batch for what gains by the first few dozen elements, and by more no longer."""
    return USUAL_BATCH if USUAL_BATCH in settings.batch else settings.batch[-1]


def size_effort(batch: int) -> float:
    """Return what a larger batch counts for beside the effort: of two that are as good, the smaller takes less memory.

    Less than any difference between forms: 0.08 for 256 elements.
    """
    return 0.01 * math.log2(batch)


def in_batched_form(context: PipelineContext, arrangement: Arrangement, names: Sequence[str]) -> tf.data.Dataset:
    """Return batches that go through a batched form of the op: the first of some that is right.

    Args:
        context: of the worker.
        arrangement: says how many elements a batch has.
        names: of `ops.batched.forms`, the preferred one first.

    Raises:
        Unsupported: none of them agrees with the body; with the reason of the last.
    """
    call = _first_right(context, names)
    return in_batches(context, arrangement, lambda *columns: context.elements.shaped(call(*columns), arrangement.batch))


def _first_right(context: PipelineContext, names: Sequence[str]) -> Body:
    """Return the first batched form that is right, and build none after it: that may take seconds."""
    form = None
    for name in names:
        form = context.batched_form(name)
        if form.call is not None:
            return form.call
    assert form is not None
    raise Unsupported(f"the batched form {form.name} is not right: {form.reason}")


def in_batches(
    context: PipelineContext, arrangement: Arrangement, work: Callable[..., tuple[Any, ...]]
) -> tf.data.Dataset:
    """Return batches that go through a function of tensors."""
    batches = context.elements.source().batch(arrangement.batch, drop_remainder=True)
    return mapped(batches, work, arrangement, context.settings)


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


def in_map(context: PipelineContext, name: str, arrangement: Arrangement) -> tf.data.Dataset:
    """Return the elements with a variant in `map`, each for itself."""
    elements = context.elements
    function = function_of(elements, name)

    def work(*inputs: Any) -> tuple[Any, ...]:
        return elements.shaped(function(*inputs))

    return mapped(elements.source(), work, arrangement, context.settings)


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

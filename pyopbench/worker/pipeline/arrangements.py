"""The arrangements of an op in a pipeline: `map`, a whole batch, a loop over a batch, a process pool, ports.

`PipelineContext` is what all of them are made from.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Action, Arrangement, parallel_text
from pyopbench.model.errors import Unsupported
from pyopbench.model.variant import BATCHED_PORTS, PORTABLE
from pyopbench.ops.load import load_variant, load_variants
from pyopbench.ops.own.explain import explain
from pyopbench.ops.port_file import PORTS
from pyopbench.ports.arrays import as_tuple
from pyopbench.ports.extract.definitions import CannotPort
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.plan import why_not
from pyopbench.worker.prepare.segments import wrap

if TYPE_CHECKING:
    from pyopbench.worker.pipeline.program import Program


@dataclass(frozen=True)
class PipelineSettings:
    """What arrangements are made for."""

    parallel: tuple[int, ...]  # values of `num_parallel_calls`; `AUTOTUNE` is one
    batch: tuple[int, ...]  # elements of a batch that goes into one callback; none if batches are not wanted
    processes: int  # of a pool


class PipelineContext:
    """What the arrangements of one worker share; process pools are started when they are first asked for.

    `program` is the user's own pipeline, in which the arrangements are measured; None for the op alone.
    """

    def __init__(self, elements: Elements, settings: PipelineSettings, program: Program | None = None) -> None:
        self.elements, self.settings, self.program = elements, settings, program
        self.start_seconds: dict[str, float] = {}  # of processes, by the key of the arrangement
        self.kept: list[Any] = []  # pipelines that must not be freed while they run
        self._pools: dict[str, Any] = {}

    @cached_property
    def why_not_whole(self) -> str:
        """Why the body cannot be called once with a whole batch; "" if it can."""
        return self.elements.why_not_whole()

    def file_call(self, key: str) -> Callable[..., tf.data.Dataset]:
        """Return `arrange` of the file of an arrangement."""
        case = self.elements.case
        return PORTS.call_of(self.elements.op, key, case.dtype, case.variant)

    def pool(self, key: str) -> Any:
        """Return the pool of the file of an arrangement, and start it if necessary."""
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


PARALLEL_EFFORT = 0.1
"""What parallel calls take beyond one line: at the same speed, a single call at a time is simpler."""

BATCH_PORT_EFFORT = 0.5
"""What the port of a batch takes beyond that of an element."""


def arrange_all(context: PipelineContext) -> list[tuple[Arrangement, Build | str]]:
    """Return every arrangement of an op, in the order in which they are listed, with what builds it or why not."""
    elements, settings = context.elements, context.settings
    usual = usual_batch(settings)
    arrangements: list[tuple[Arrangement, str | None]] = []
    for batch in settings.batch:
        # One callback over a whole batch, where NumPy takes the batch axis as it is.
        code, effort = f"ds.batch({batch}).map(f)", size_effort(batch) - 0.5
        arrangements.append((Arrangement("batch_body", "batch", code, batch=batch, extra_effort=effort), None))
    for batch in settings.batch:
        # One callback that goes through a batch in a loop.
        code, effort = f"ds.batch({batch}).map(loop_over_batch)", size_effort(batch)
        arrangements.append((Arrangement("batch_loop", "batch", code, batch=batch, extra_effort=effort), None))
    if usual and AUTOTUNE in settings.parallel:
        code = f"ds.batch({usual}).map(loop_over_batch, num_parallel_calls=tf.data.AUTOTUNE)"
        effort = size_effort(usual) + PARALLEL_EFFORT
        arrangements.append((Arrangement("batch_loop", "batch", code, AUTOTUNE, usual, extra_effort=effort), None))
    for parallel in settings.parallel:
        # The current callback, one call after another and several at once.
        calls = f"tf.data.{parallel_text(parallel)}" if parallel == AUTOTUNE else str(parallel)
        code = "ds.map(f)" if parallel == 1 else f"ds.map(f, num_parallel_calls={calls})"
        # AUTOTUNE comes before a number: it fits the next machine too.
        effort = 0.0 if parallel == AUTOTUNE else PARALLEL_EFFORT
        action: Action = "keep" if parallel == 1 else "parallel"
        arrangements.append((Arrangement("map", action, code, parallel, extra_effort=effort), None))
    ports = _ports(elements)
    for name, effort, reason in ports:
        code = f"ds.map({name}, num_parallel_calls=tf.data.AUTOTUNE)"
        arrangements.append((Arrangement("port", "port", code, AUTOTUNE, 0, name, effort), reason))
    for name, effort, reason in ports:
        if usual and name in BATCHED_PORTS:
            code = f"ds.batch({usual}).map({name}_of_batch, num_parallel_calls=tf.data.AUTOTUNE)"
            several = Arrangement("port_batch", "port", code, AUTOTUNE, usual, name, effort + BATCH_PORT_EFFORT)
            arrangements.append((several, reason))
    # A pool of processes, in which bodies run at the same time whatever the interpreter locks.
    pool = Arrangement("processes", "processes", "ds = arrange(ds)", settings.processes)
    arrangements.append((pool, None))
    if usual:
        code = f"ds = arrange(ds.batch({usual}))"
        arrangements.append((replace(pool, code=code, batch=usual, extra_effort=0.5), None))
    return [
        (one, reason or (why_no_batch(elements, one.batch) if one.batch else None) or partial(from_file, one))
        for one, reason in arrangements
    ]


def _ports(elements: Elements) -> list[tuple[str, float, str | None]]:
    """Return the ports that a run would measure for the op: name, effort, and why not, if not."""
    op, current = elements.op, elements.case.variant
    return [
        (name, float(variant.effort), why_not(op, variant, replace(elements.case, variant=name)))
        for name, variant in load_variants().items()
        if variant.is_port and variant.is_usual_for(op) and name != current
    ]


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
    """Return what a larger batch counts for besides the effort: of two that are as good, the smaller takes less memory.

    Less than any difference between forms: 0.08 for 256 elements.
    """
    return 0.01 * math.log2(batch)


def function_of(elements: Elements, name: str) -> Callable[..., tuple[Any, ...]]:
    """Return a variant as a function of the tensors of one element, compiled as the variant says."""
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


def write_module(arrangement: Arrangement, context: PipelineContext) -> Any:
    """Return the module of the file that `pyopbench port` writes for an arrangement.

    None for code that the user has already written: their own ports, such as `native`, and the current callback, for
    which a file cannot always be written.
    """
    if arrangement.variant and arrangement.variant not in PORTABLE:
        return None
    if arrangement.form == "batch_body" and context.why_not_whole:
        raise Unsupported(f"the body is not right for a whole batch: {context.why_not_whole}")
    try:
        return sys.modules[context.file_call(arrangement.key).__module__]
    except CannotPort as refusal:
        if arrangement.form == "map":
            return None
        raise Unsupported(f"it cannot be written as a file: {refusal.why}") from refusal


def from_file(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    """Return the elements, or batches of them, arranged by the file that `pyopbench port` writes.

    Functions without a file, because the user has written them, are called directly.
    """
    module = write_module(arrangement, context)
    if module is None:
        return in_map(context, arrangement.variant or context.elements.case.variant, arrangement)
    source = context.elements.source()
    if arrangement.batch:
        source = source.batch(arrangement.batch, drop_remainder=True)
    more = {"pool": context.pool(arrangement.key)} if arrangement.action == "processes" else {}
    arranged: tf.data.Dataset = module.arrange(source, **more)
    return arranged


def in_map(context: PipelineContext, name: str, arrangement: Arrangement) -> tf.data.Dataset:
    """Return the elements with a variant in `map`, each by itself; the number of each element follows its outputs."""
    elements = context.elements
    function = function_of(elements, name)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def numbered(*element: Any) -> tuple[Any, ...]:
        return (*elements.shaped(function(*element[:-1])), element[-1])

    return elements.source().map(numbered, num_parallel_calls=calls_of(arrangement.parallel))

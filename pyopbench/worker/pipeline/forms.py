"""The forms of an op in a pipeline: the current callback, other callbacks, ports, batches and pools of processes.

A form is a function that yields its arrangements, each with what builds it or with the reason why there is none, and an
entry in `FORMS`, by the name that arrangements have too.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement, parallel_text
from pyopbench.ops.load import load_variant
from pyopbench.worker.pipeline.elements import Elements, signature_of
from pyopbench.worker.pipeline.form import (
    Build,
    PipelineContext,
    in_batched_form,
    in_batches,
    in_map,
    is_attempt,
    mapped,
    size_effort,
    usual_batch,
    variants_for,
    why_no_batch,
)

Arrangements: TypeAlias = Iterator[tuple[Arrangement, Build | str]]

SAME_BRIDGE = ("py_func",)
"""What makes the same op in a graph as another variant that is measured: `tf.compat.v1.py_func` as numpy_function."""

BATCH_PORT_EFFORT = 0.5
"""What the port of a batch takes beyond that of an element."""

POOL_BATCH = 32
"""Elements of a call of a pool, where a call is to cost little next to its bodies."""
CHUNK = 32
"""Elements that a process is given at a time, of quick bodies."""
CHUNK_SECONDS = 0.05
"""Of slow bodies fewer, so that they come steadily."""


# The current callback, and other callbacks over the same body.


def arrange_map(context: PipelineContext) -> Arrangements:
    """Yield the current callback in `Dataset.map`, one call after another and several at once."""
    for parallel in context.settings.parallel:
        calls = f"tf.data.{parallel_text(parallel)}" if parallel == AUTOTUNE else str(parallel)
        code = "ds.map(f)" if parallel == 1 else f"ds.map(f, num_parallel_calls={calls})"
        # AUTOTUNE comes before a number: it fits the next machine too.
        extra = 0.0 if parallel == AUTOTUNE else 0.1
        arrangement = Arrangement("map", "keep" if parallel == 1 else "parallel", code, parallel, extra_effort=extra)
        yield arrangement, partial(_build_map, arrangement, context.elements.case.variant)


def arrange_switch(context: PipelineContext) -> Arrangements:
    """Yield other callbacks over the same body, such as `tf.numpy_function` for `tf.py_function`."""
    parallel = AUTOTUNE if AUTOTUNE in context.settings.parallel else max(context.settings.parallel)
    for name, effort, reason in variants_for(context.elements, "callback"):
        if name not in SAME_BRIDGE:
            code = f"ds.map(with_{name}, num_parallel_calls=tf.data.AUTOTUNE)"
            arrangement = Arrangement("switch", "switch", code, parallel, 0, name, effort / 10)
            yield arrangement, reason or partial(_build_map, arrangement, name)


def _build_map(arrangement: Arrangement, variant: str, context: PipelineContext) -> tf.data.Dataset:
    return in_map(context, variant, arrangement)


# Ports, of an element and of a batch.


def arrange_port(context: PipelineContext) -> Arrangements:
    """Yield ports of the op in `Dataset.map`: no Python in the pipeline."""
    for name, effort, reason in variants_for(context.elements, "port"):
        code = f"ds.map({name}, num_parallel_calls=tf.data.AUTOTUNE)"
        tried = is_attempt(context.elements, name)
        arrangement = Arrangement("port", "port", code, AUTOTUNE, 0, name, effort, is_attempt=tried)
        yield arrangement, reason or partial(_build_map, arrangement, name)


def arrange_port_batch(context: PipelineContext) -> Arrangements:
    """Yield ports over a batch: as they are where they take the batch axis, else vectorised."""
    batch = usual_batch(context.settings)
    for name, effort, reason in variants_for(context.elements, "port"):
        code = f"ds.batch({batch}).map({name}_of_batch, num_parallel_calls=tf.data.AUTOTUNE)"
        effort_of_batch, tried = effort + BATCH_PORT_EFFORT, is_attempt(context.elements, name)
        arrangement = Arrangement("port_batch", "port", code, AUTOTUNE, batch, name, effort_of_batch, is_attempt=tried)
        build = partial(_build_batched, arrangement, (f"{name}_whole", f"{name}_map"))
        yield arrangement, reason or why_no_batch(context.elements, batch) or build


# One callback for a batch: fewer trips.


def arrange_batch_body(context: PipelineContext) -> Arrangements:
    """Yield one callback over a whole batch, where NumPy takes the batch axis as it is."""
    for batch in context.settings.batch:
        code, effort = f"ds.batch({batch}).map(f)", size_effort(batch) - 0.5
        arrangement = Arrangement("batch_body", "batch", code, batch=batch, extra_effort=effort)
        yield arrangement, _batch_builder(context, arrangement, "numpy_whole")


def arrange_batch_loop(context: PipelineContext) -> Arrangements:
    """Yield one callback that goes through a batch in a loop."""
    for batch in context.settings.batch:
        code = f"ds.batch({batch}).map(loop_over_batch)"
        arrangement = Arrangement("batch_loop", "batch", code, batch=batch, extra_effort=size_effort(batch))
        yield arrangement, _batch_builder(context, arrangement, "numpy_loop")


def arrange_batch_njit(context: PipelineContext) -> Arrangements:
    """Yield one callback in which Numba has compiled the body and the loop over the batch."""
    variant = load_variant("njit")
    if variant.is_usual_for(context.elements.op):
        batch = usual_batch(context.settings)
        code = f"ds.batch({batch}).map(njit_loop_over_batch)"
        arrangement = Arrangement("batch_njit", "batch", code, batch=batch, extra_effort=float(variant.effort))
        yield arrangement, _batch_builder(context, arrangement, "njit_loop")


def _batch_builder(context: PipelineContext, arrangement: Arrangement, name: str) -> Build | str:
    """Return what builds a callback over batches; the reason where elements cannot be put into batches."""
    return why_no_batch(context.elements, arrangement.batch) or partial(_build_batched, arrangement, (name,))


def _build_batched(arrangement: Arrangement, names: tuple[str, ...], context: PipelineContext) -> tf.data.Dataset:
    return in_batched_form(context, arrangement, names)


# Pools of processes, in which bodies run at the same time whatever the interpreter locks.


def arrange_processes(context: PipelineContext) -> Arrangements:
    """Yield a pool of processes behind one callback, for an element and for a batch."""
    calls = context.settings.processes
    code = f"ds.map(call_pool, num_parallel_calls={calls})"
    one = Arrangement("processes", "processes", code, calls)
    yield one, partial(_build_processes, one)
    code = f"ds.batch({POOL_BATCH}).map(call_pool_on_batch, num_parallel_calls={calls})"
    several = Arrangement("processes", "processes", code, calls, POOL_BATCH, extra_effort=0.5)
    yield several, why_no_batch(context.elements, POOL_BATCH) or partial(_build_processes, several)


def _build_processes(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    elements = context.elements
    context.start_pool()

    def call_one(*inputs: Any) -> tuple[Any, ...]:
        return tuple(column[0] for column in context.call_pool([_row(one) for one in inputs]))

    def call_batch(*columns: Any) -> tuple[Any, ...]:
        return context.call_pool(columns)

    if arrangement.batch:
        return in_batches(
            context,
            arrangement,
            lambda *columns: elements.shaped(
                tf.numpy_function(call_batch, columns, elements.dtypes), arrangement.batch
            ),
        )
    return mapped(
        elements.source(),
        lambda *inputs: elements.shaped(tf.numpy_function(call_one, inputs, elements.dtypes)),
        arrangement,
        context.settings,
    )


def _row(value: Any) -> Any:
    """Return an input of one element as a batch of one; a single text comes as `bytes`."""
    array = np.empty((1, *np.shape(value)), object if isinstance(value, bytes) else np.asarray(value).dtype)
    array[0] = value
    return array


def arrange_process_generator(context: PipelineContext) -> Arrangements:
    """Yield `Dataset.from_generator` over a pool of processes, which are kept at work ahead of it."""
    chunk = _chunk_of(context.elements)
    ahead = chunk * (context.settings.processes + 1)
    code = "tf.data.Dataset.from_generator(outputs_of_pool, output_signature=...)"
    arrangement = Arrangement("process_generator", "processes", code, extra_effort=1.0, ahead=ahead)
    reason = "outputs of different shapes cannot be put into a batch"
    yield arrangement, _build_process_generator if context.elements.stacks else reason


def _build_process_generator(context: PipelineContext) -> tf.data.Dataset:
    elements, chunk = context.elements, _chunk_of(context.elements)
    context.start_pool()
    return tf.data.Dataset.from_generator(lambda: _outputs(context, chunk), output_signature=signature_of(elements))


def _chunk_of(elements: Elements) -> int:
    return max(1, min(CHUNK, int(CHUNK_SECONDS / max(elements.body_seconds, 1e-9))))


def _outputs(context: PipelineContext, chunk: int) -> Iterator[tuple[Any, ...]]:
    """Yield the number and the outputs of element after element, in order, over and over."""
    pending: deque[tuple[Any, Future[tuple[Any, ...]]]] = deque()
    with ThreadPoolExecutor(context.settings.processes) as threads:
        for numbers, columns in _chunks(context.elements, chunk):
            pending.append((numbers, threads.submit(context.call_pool, columns)))
            if len(pending) > context.settings.processes:
                first, outputs = pending.popleft()
                yield from zip(first, *outputs.result(), strict=True)


def _chunks(elements: Elements, chunk: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    place, many = 0, len(elements.inputs)
    while True:
        numbers = np.arange(place, place + chunk) % many
        rows = [elements.inputs[number] for number in numbers]
        yield numbers, tuple(np.stack(column) for column in zip(*rows, strict=True))
        place = (place + chunk) % many


def arrange_grain(context: PipelineContext) -> Arrangements:
    """Yield the worker processes of Grain's `DataLoader`, outside of tf.data, where `grain` is installed."""
    workers = context.settings.processes
    batch = context.elements.delivered if context.elements.delivered > 1 else 0
    batched = f", grain.Batch({batch})" if batch else ""
    code = f"grain.DataLoader(data_source=..., operations=[Body(){batched}], worker_count={workers})"
    # Each worker has a batch ready, one in the making, and one on its way.
    ahead = 3 * workers * max(batch, 1)
    arrangement = Arrangement("grain", "outside", code, batch=batch, ahead=ahead)
    is_here = find_spec("grain") is not None
    reason = "grain is not installed here: pip install 'pyopbench[grain]'"
    yield arrangement, partial(_build_grain, arrangement) if is_here else reason


def _build_grain(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    from pyopbench.worker.pipeline.grain_loader import CallBody, load_elements

    elements = context.elements
    body = CallBody(elements.case.op, elements.target, elements.dtypes)
    start = time.perf_counter()
    rows = load_elements(elements.inputs, body, arrangement.batch, context.settings.processes)
    first = next(rows)
    context.start_seconds[arrangement.form] = time.perf_counter() - start
    signature = signature_of(elements, *([arrangement.batch] if arrangement.batch else []))
    return tf.data.Dataset.from_generator(lambda: chain([first], rows), output_signature=signature)


FORMS: dict[str, Callable[[PipelineContext], Arrangements]] = {
    "batch_body": arrange_batch_body,
    "batch_loop": arrange_batch_loop,
    "batch_njit": arrange_batch_njit,
    "grain": arrange_grain,
    "map": arrange_map,
    "port": arrange_port,
    "port_batch": arrange_port_batch,
    "process_generator": arrange_process_generator,
    "processes": arrange_processes,
    "switch": arrange_switch,
}
"""Every form by name, in the order in which arrangements are listed and measured."""

"""The forms of an op in a pipeline: the current callback, other callbacks, ports, batches and pools of processes.

A form is a function that yields its arrangements, each with what builds it or with the reason why there is none, and an
entry in `FORMS`, by the name that arrangements have too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from pyopbench.model.arrangement import AUTOTUNE, Arrangement, parallel_text
from pyopbench.model.portable import BATCHED_PORTS
from pyopbench.worker.pipeline.form import (
    Build,
    PipelineContext,
    from_file,
    is_attempt,
    size_effort,
    usual_batch,
    variants_for,
    why_no_batch,
)

Arrangements: TypeAlias = Iterator[tuple[Arrangement, Build | str]]

SAME_BRIDGE = ("py_func",)
"""What makes the same op in a graph as another variant that is measured: `tf.compat.v1.py_func` as numpy_function."""

PARALLEL_EFFORT = 0.1
"""What parallel calls take beyond one line: at the same speed, a single call at a time is simpler."""

BATCH_PORT_EFFORT = 0.5
"""What the port of a batch takes beyond that of an element."""


# The current callback, and other callbacks over the same body.


def arrange_map(context: PipelineContext) -> Arrangements:
    """Yield the current callback in `Dataset.map`, one call after another and several at once."""
    for parallel in context.settings.parallel:
        calls = f"tf.data.{parallel_text(parallel)}" if parallel == AUTOTUNE else str(parallel)
        code = "ds.map(f)" if parallel == 1 else f"ds.map(f, num_parallel_calls={calls})"
        # AUTOTUNE comes before a number: it fits the next machine too.
        extra = 0.0 if parallel == AUTOTUNE else 0.1
        arrangement = Arrangement("map", "keep" if parallel == 1 else "parallel", code, parallel, extra_effort=extra)
        yield arrangement, partial(from_file, arrangement)


def arrange_switch(context: PipelineContext) -> Arrangements:
    """Yield other callbacks over the same body, such as `tf.numpy_function` for `tf.py_function`."""
    parallel = AUTOTUNE if AUTOTUNE in context.settings.parallel else max(context.settings.parallel)
    for name, effort, reason in variants_for(context.elements, "callback"):
        if name not in SAME_BRIDGE:
            code = f"ds.map(with_{name}, num_parallel_calls=tf.data.AUTOTUNE)"
            arrangement = Arrangement("switch", "switch", code, parallel, 0, name, effort / 10)
            yield arrangement, reason or partial(from_file, arrangement)


# Ports, of an element and of a batch.


def arrange_port(context: PipelineContext) -> Arrangements:
    """Yield ports of the op in `Dataset.map`: no Python in the pipeline."""
    for name, effort, reason in variants_for(context.elements, "port"):
        code = f"ds.map({name}, num_parallel_calls=tf.data.AUTOTUNE)"
        tried = is_attempt(context.elements, name)
        arrangement = Arrangement("port", "port", code, AUTOTUNE, 0, name, effort, is_attempt=tried)
        yield arrangement, reason or partial(from_file, arrangement)


def arrange_port_batch(context: PipelineContext) -> Arrangements:
    """Yield ports over a batch, vectorised or with a loop in the op."""
    batch = usual_batch(context.settings)
    for name, effort, reason in variants_for(context.elements, "port") if batch else ():
        if name not in BATCHED_PORTS:
            continue
        code = f"ds.batch({batch}).map({name}_of_batch, num_parallel_calls=tf.data.AUTOTUNE)"
        effort_of_batch, tried = effort + BATCH_PORT_EFFORT, is_attempt(context.elements, name)
        arrangement = Arrangement("port_batch", "port", code, AUTOTUNE, batch, name, effort_of_batch, is_attempt=tried)
        yield arrangement, reason or _batch_builder(context, arrangement)


# One callback for a batch: fewer trips.


def arrange_batch_body(context: PipelineContext) -> Arrangements:
    """Yield one callback over a whole batch, where NumPy takes the batch axis as it is."""
    for batch in context.settings.batch:
        code, effort = f"ds.batch({batch}).map(f)", size_effort(batch) - 0.5
        arrangement = Arrangement("batch_body", "batch", code, batch=batch, extra_effort=effort)
        yield arrangement, _batch_builder(context, arrangement)


def arrange_batch_loop(context: PipelineContext) -> Arrangements:
    """Yield one callback that goes through a batch in a loop; for the usual batch size, also with parallel calls."""
    for batch in context.settings.batch:
        code = f"ds.batch({batch}).map(loop_over_batch)"
        arrangement = Arrangement("batch_loop", "batch", code, batch=batch, extra_effort=size_effort(batch))
        yield arrangement, _batch_builder(context, arrangement)
    batch = usual_batch(context.settings)
    if batch and AUTOTUNE in context.settings.parallel:
        code = f"ds.batch({batch}).map(loop_over_batch, num_parallel_calls=tf.data.AUTOTUNE)"
        effort = size_effort(batch) + PARALLEL_EFFORT
        several = Arrangement("batch_loop", "batch", code, AUTOTUNE, batch, extra_effort=effort)
        yield several, _batch_builder(context, several)


def _batch_builder(context: PipelineContext, arrangement: Arrangement) -> Build | str:
    """Return what builds a callback over batches; the reason where elements cannot be put into batches."""
    return why_no_batch(context.elements, arrangement.batch) or partial(from_file, arrangement)


# Pools of processes, in which bodies run at the same time whatever the interpreter locks.


def arrange_processes(context: PipelineContext) -> Arrangements:
    """Yield a pool of processes behind one callback, for an element and for a batch."""
    calls = context.settings.processes
    one = Arrangement("processes", "processes", "ds = arrange(ds)", calls)
    yield one, partial(from_file, one)
    batch = usual_batch(context.settings)
    if not batch:
        return
    several = Arrangement("processes", "processes", f"ds = arrange(ds.batch({batch}))", calls, batch, extra_effort=0.5)
    yield several, _batch_builder(context, several)


FORMS: dict[str, Callable[[PipelineContext], Arrangements]] = {
    "batch_body": arrange_batch_body,
    "batch_loop": arrange_batch_loop,
    "map": arrange_map,
    "port": arrange_port,
    "port_batch": arrange_port_batch,
    "processes": arrange_processes,
    "switch": arrange_switch,
}
"""Every form by name, in the order in which arrangements are listed and measured."""

"""The forms of an op in a pipeline: the current callback, other callbacks, ports, batches and pools of processes.

A form is a function that yields its arrangements, each with what builds it or with the reason why there is none, and an
entry in `FORMS`, by the name that arrangements have too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, STEP, Arrangement, parallel_text
from pyopbench.model.case import GPU
from pyopbench.model.errors import Unsupported
from pyopbench.ops.load import load_variant
from pyopbench.worker.pipeline.elements import signature_of
from pyopbench.worker.pipeline.form import (
    Build,
    PipelineContext,
    from_file,
    is_attempt,
    size_effort,
    usual_batch,
    variants_for,
    why_no_batch,
    written_module,
)

Arrangements: TypeAlias = Iterator[tuple[Arrangement, Build | str]]

SAME_BRIDGE = ("py_func",)
"""What makes the same op in a graph as another variant that is measured: `tf.compat.v1.py_func` as numpy_function."""

PARALLEL_EFFORT = 0.1
"""What parallel calls take beyond one line: at the same speed, a single call at a time is simpler."""

BATCH_PORT_EFFORT = 0.5
"""What the port of a batch takes beyond that of an element."""

KERAS_QUEUE = 10
"""Batches that Keras keeps ready by default (`max_queue_size`)."""

MOST_BATCHES = 1 << 40
"""Number of batches of a dataset for Keras, so that it does not end while it is measured."""


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
    """Yield ports over a batch: as they are where they take the batch axis, else vectorised."""
    batch = usual_batch(context.settings)
    for name, effort, reason in variants_for(context.elements, "port") if batch else ():
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


def arrange_batch_njit(context: PipelineContext) -> Arrangements:
    """Yield one callback in which Numba has compiled the body and the loop over the batch."""
    variant = load_variant("njit")
    batch = usual_batch(context.settings)
    if batch and variant.is_usual_for(context.elements.op):
        code = f"ds.batch({batch}).map(njit_loop_over_batch)"
        arrangement = Arrangement("batch_njit", "batch", code, batch=batch, extra_effort=float(variant.effort))
        yield arrangement, _batch_builder(context, arrangement)


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


def arrange_grain(context: PipelineContext) -> Arrangements:
    """Yield the worker processes of Grain's `DataLoader`, outside of tf.data, where `grain` is installed."""
    workers = context.settings.processes
    batch = context.elements.delivered if context.elements.delivered > 1 else 0
    batched = f", grain.Batch({batch})" if batch else ""
    code = f"grain.DataLoader(data_source=..., operations=[Body(){batched}], worker_count={workers})"
    # Each worker has a batch ready, one in the making, and one on its way.
    ahead = 3 * workers * max(batch, 1)
    arrangement = Arrangement("grain", "outside", code, batch=batch, ahead=ahead)
    yield arrangement, why_no_grain() or partial(_build_grain, arrangement)


def arrange_pydataset(context: PipelineContext) -> Arrangements:
    """Yield a `keras.utils.PyDataset` whose workers hand batches to a pool of processes, outside of tf.data."""
    batch, calls = context.elements.delivered, context.settings.processes
    ahead = (KERAS_QUEUE + 1) * batch
    code = f"model.fit(batches(read, elements, batch={batch}))"
    arrangement = Arrangement("pydataset", "outside", code, calls, batch, ahead=ahead)
    why = None if find_spec("keras") else "Keras is not installed here"
    yield arrangement, why or why_no_batch(context.elements, batch) or partial(_build_pydataset, arrangement)


def _build_pydataset(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    """Return the dataset that Keras's `fit` reads from the dataset of the file."""
    try:
        from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter
    except ImportError as error:
        raise Unsupported(f"this version of Keras reads datasets otherwise: {error}") from error
    elements, module = context.elements, written_module(arrangement, context)
    many = len(elements.inputs)

    def read(number: int) -> tuple[Any, ...]:
        return *elements.inputs[number % many], np.int64(number % many)

    made = module.batches(
        read,
        MOST_BATCHES * arrangement.batch,
        arrangement.batch,
        put=lambda outputs, numbers: (tuple(outputs), numbers),
        pool=context.pool(arrangement.key),
    )
    dataset: tf.data.Dataset = PyDatasetAdapter(made).get_tf_dataset()
    return dataset.map(lambda outputs, numbers: (*elements.shaped(outputs, arrangement.batch), numbers))


def arrange_device(context: PipelineContext) -> Arrangements:
    """Yield ports for a batch that run in the training step on the GPU, at its start, and not in the pipeline."""
    why = why_not_in_step(context)
    if why:
        yield Arrangement("device", "port", "outputs = port_of_batch(batch)  # in the step, on the device"), why
        return
    batch = context.elements.delivered
    for name, effort, reason in variants_for(context.elements, "port", GPU):
        code = f"outputs = {name}_of_batch(batch)  # in the step, on the device"
        effort_of_step, tried = effort + 2 * BATCH_PORT_EFFORT, is_attempt(context.elements, name)
        arrangement = Arrangement("device", "port", code, 1, batch, name, effort_of_step, is_attempt=tried)
        yield arrangement, reason or why_no_batch(context.elements, 1) or _source_in_batches


def why_not_in_step(context: PipelineContext) -> str | None:
    """Return why no port can run in the training step; None if ports can."""
    if context.settings.placement != GPU:
        return "no training step is run: use --device gpu and --step-ms, on a machine with a GPU"
    if context.program is not None:
        return "later stages of your program's dataset need the outputs of this one, so it has to stay there"
    if context.elements.delivered < 2:
        return why_no_batch(context.elements, 1) or "with one element per step there is no batch"
    return None


def _source_in_batches(context: PipelineContext) -> tf.data.Dataset:
    return context.elements.source().batch(context.elements.delivered, drop_remainder=True)


def arrange_step(context: PipelineContext) -> Arrangements:
    """Yield the training step alone, with its input ready, for comparison; nothing if no step is run."""
    if context.settings.placement == GPU:
        yield Arrangement(STEP, "keep", "# the step alone"), PipelineContext.ready


def why_no_grain() -> str | None:
    """Return why Grain cannot be used, or None if it can."""
    return None if find_spec("grain") else "grain is not installed here: pip install 'pyopbench[grain]'"


def _build_grain(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    from pyopbench.worker.pipeline.grain_loader import CallBody, load_elements

    elements = context.elements
    body = CallBody(elements.case.op, elements.target, elements.dtypes)
    start = time.perf_counter()
    rows = load_elements(elements.inputs, body, arrangement.batch, context.settings.processes)
    first = next(rows)
    context.start_seconds[arrangement.key] = time.perf_counter() - start
    signature = signature_of(elements, *([arrangement.batch] if arrangement.batch else []))
    return tf.data.Dataset.from_generator(lambda: chain([first], rows), output_signature=signature)


FORMS: dict[str, Callable[[PipelineContext], Arrangements]] = {
    "batch_body": arrange_batch_body,
    "batch_loop": arrange_batch_loop,
    "batch_njit": arrange_batch_njit,
    "device": arrange_device,
    "grain": arrange_grain,
    "map": arrange_map,
    "port": arrange_port,
    "port_batch": arrange_port_batch,
    "processes": arrange_processes,
    "pydataset": arrange_pydataset,
    "step": arrange_step,
    "switch": arrange_switch,
}
"""Every form by name, in the order in which arrangements are listed and measured."""

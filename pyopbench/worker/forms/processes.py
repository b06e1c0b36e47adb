"""A pool of processes behind one callback, so that bodies run beside each other whatever the interpreter locks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext, in_batches, mapped, why_no_batch

BATCH = 32
"""Elements of a call where a call is to cost little beside its bodies."""


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    calls = context.settings.processes
    code = f"ds.map(call_pool, num_parallel_calls={calls})"
    one = Arrangement("processes", "processes", code, calls)
    yield one, partial(_build, one)
    code = f"ds.batch({BATCH}).map(call_pool_on_batch, num_parallel_calls={calls})"
    several = Arrangement("processes", "processes", code, calls, BATCH, extra_effort=0.5)
    yield several, why_no_batch(context.elements, BATCH) or partial(_build, several)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
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


FORM = Form("processes", "a pool of processes behind one callback", _arrange)

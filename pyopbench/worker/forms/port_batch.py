"""Batch first, then a port over the whole batch: as it stands where it takes the batch axis, else vectorised."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.worker.pipeline.form import (
    Build,
    Form,
    PipelineContext,
    in_batched_form,
    is_attempt,
    usual_batch,
    variants_for,
    why_no_batch,
)

EXTRA_EFFORT = 0.5


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    batch = usual_batch(context.settings)
    for name, effort, reason in variants_for(context.elements, "port"):
        code = f"ds.batch({batch}).map({name}_of_batch, num_parallel_calls=tf.data.AUTOTUNE)"
        arrangement = Arrangement(
            "port_batch",
            "port",
            code,
            AUTOTUNE,
            batch,
            name,
            effort + EXTRA_EFFORT,
            is_attempt=is_attempt(context.elements, name),
        )
        yield arrangement, reason or why_no_batch(context.elements, batch) or partial(_build, arrangement)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    name = arrangement.variant
    return in_batched_form(context, arrangement, (f"{name}_whole", f"{name}_map"))


FORM = Form("port_batch", "a port over a batch", _arrange)

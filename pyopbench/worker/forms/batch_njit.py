"""Batch first, then one callback in which Numba has compiled the body and the loop over the batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.ops.load import load_variant
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext, in_batched_form, usual_batch, why_no_batch


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    variant = load_variant("njit")
    if not variant.is_usual_for(context.elements.op):
        return
    batch = usual_batch(context.settings)
    code = f"ds.batch({batch}).map(njit_loop_over_batch)"
    arrangement = Arrangement("batch_njit", "batch", code, batch=batch, extra_effort=float(variant.effort))
    yield arrangement, why_no_batch(context.elements, batch) or partial(_build, arrangement)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    return in_batched_form(context, arrangement, ("njit_loop",))


FORM = Form("batch_njit", "one callback for a batch, with body and loop compiled by Numba", _arrange)

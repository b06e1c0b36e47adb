"""Batch first, then one callback that goes through the batch in a loop: fewer trips, the same body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext, in_batched_form, size_effort, why_no_batch


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    for batch in context.settings.batch:
        code = f"ds.batch({batch}).map(loop_over_batch)"
        arrangement = Arrangement("batch_loop", "batch", code, batch=batch, extra_effort=size_effort(batch))
        yield arrangement, why_no_batch(context.elements, batch) or partial(_build, arrangement)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    return in_batched_form(context, arrangement, ("numpy_loop",))


FORM = Form("batch_loop", "one callback for a batch, with a loop in it", _arrange)

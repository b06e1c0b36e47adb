"""Batch first, then one callback with the body over the whole batch, where NumPy takes the batch axis as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext, in_batched_form, size_effort, why_no_batch


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    for batch in context.settings.batch:
        code = f"ds.batch({batch}).map(f)"
        arrangement = Arrangement("batch_body", "batch", code, batch=batch, extra_effort=size_effort(batch) - 0.5)
        yield arrangement, why_no_batch(context.elements, batch) or partial(_build, arrangement)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    return in_batched_form(context, arrangement, ("numpy_whole",))


FORM = Form("batch_body", "one callback for a batch, with the body over all of it", _arrange)

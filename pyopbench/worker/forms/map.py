"""The current callback in `Dataset.map`, one call after another or several at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement, parallel_text
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext, in_map


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    for parallel in context.settings.parallel:
        calls = f"tf.data.{parallel_text(parallel)}" if parallel == AUTOTUNE else str(parallel)
        code = "ds.map(f)" if parallel == 1 else f"ds.map(f, num_parallel_calls={calls})"
        # AUTOTUNE comes before a number: it fits the next machine too.
        extra = 0.0 if parallel == AUTOTUNE else 0.1
        arrangement = Arrangement("map", "keep" if parallel == 1 else "parallel", code, parallel, extra_effort=extra)
        yield arrangement, partial(_build, arrangement)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    return in_map(context, context.elements.case.variant, arrangement)


FORM = Form("map", "the current callback in Dataset.map", _arrange)

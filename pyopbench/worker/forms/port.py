"""A port of the op in `Dataset.map`: no Python in the pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext, in_map, is_attempt, variants_for


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    for name, effort, reason in variants_for(context.elements, "port"):
        code = f"ds.map({name}, num_parallel_calls=tf.data.AUTOTUNE)"
        tried = is_attempt(context.elements, name)
        arrangement = Arrangement("port", "port", code, AUTOTUNE, 0, name, effort, is_attempt=tried)
        yield arrangement, reason or partial(_build, arrangement)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    return in_map(context, arrangement.variant, arrangement)


FORM = Form("port", "a port of the op in Dataset.map", _arrange)

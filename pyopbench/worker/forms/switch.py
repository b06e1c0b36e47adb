"""Another callback over the same body in `Dataset.map`, such as `tf.numpy_function` for `tf.py_function`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import tensorflow as tf

from pyopbench.model.arrangement import AUTOTUNE, Arrangement
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext, in_map, variants_for

SAME_BRIDGE = ("py_func",)
"""What makes the same op in a graph as another variant that is measured: `tf.compat.v1.py_func` as numpy_function."""


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    parallel = AUTOTUNE if AUTOTUNE in context.settings.parallel else max(context.settings.parallel)
    for name, effort, reason in variants_for(context.elements, "callback"):
        if name not in SAME_BRIDGE:
            code = f"ds.map(with_{name}, num_parallel_calls=tf.data.AUTOTUNE)"
            arrangement = Arrangement("switch", "switch", code, parallel, 0, name, effort / 10)
            yield arrangement, reason or partial(_build, arrangement)


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    return in_map(context, arrangement.variant, arrangement)


FORM = Form("switch", "another callback over the same body in Dataset.map", _arrange)

"""The body in the worker processes of Grain's `DataLoader`, outside of tf.data, where `grain` is installed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from itertools import chain

import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.worker.pipeline.elements import signature_of
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    workers = context.settings.processes
    batch = context.elements.delivered if context.elements.delivered > 1 else 0
    batched = f", grain.Batch({batch})" if batch else ""
    code = f"grain.DataLoader(data_source=..., operations=[Body(){batched}], worker_count={workers})"
    # Each worker has a batch ready, one in the making, and one on its way.
    ahead = 3 * workers * max(batch, 1)
    arrangement = Arrangement("grain", "outside", code, batch=batch, ahead=ahead)
    yield arrangement, _why_not() or partial(_build, arrangement)


def _why_not() -> str | None:
    if find_spec("grain") is None:
        return "grain is not installed here: pip install 'pyopbench[grain]'"
    return None


def _build(arrangement: Arrangement, context: PipelineContext) -> tf.data.Dataset:
    from pyopbench.worker.pipeline.grain_loader import CallBody, load_elements

    elements = context.elements
    body = CallBody(elements.case.op, elements.dtypes)
    start = time.perf_counter()
    rows = load_elements(elements.inputs, body, arrangement.batch, context.settings.processes)
    first = next(rows)
    context.start_seconds[arrangement.form] = time.perf_counter() - start
    signature = signature_of(elements, *([arrangement.batch] if arrangement.batch else []))
    return tf.data.Dataset.from_generator(lambda: chain([first], rows), output_signature=signature)


FORM = Form("grain", "Grain's DataLoader with worker processes, outside of tf.data", _arrange)

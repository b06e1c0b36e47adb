"""`Dataset.from_generator` over a pool of processes, which are kept at work ahead of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.worker.pipeline.elements import Elements, signature_of
from pyopbench.worker.pipeline.form import Build, Form, PipelineContext

CHUNK = 32
"""Elements that a process is given at a time, of quick bodies."""
CHUNK_SECONDS = 0.05
"""Of slow bodies fewer, so that they come steadily."""


def _arrange(context: PipelineContext) -> Iterator[tuple[Arrangement, Build | str]]:
    chunk = _chunk_of(context.elements)
    ahead = chunk * (context.settings.processes + 1)
    code = "tf.data.Dataset.from_generator(outputs_of_pool, output_signature=...)"
    arrangement = Arrangement("process_generator", "processes", code, extra_effort=1.0, ahead=ahead)
    reason = "outputs of different shapes cannot be put into a batch"
    yield arrangement, _build if context.elements.stacks else reason


def _build(context: PipelineContext) -> tf.data.Dataset:
    elements, chunk = context.elements, _chunk_of(context.elements)
    context.start_pool()
    return tf.data.Dataset.from_generator(lambda: _outputs(context, chunk), output_signature=signature_of(elements))


def _chunk_of(elements: Elements) -> int:
    return max(1, min(CHUNK, int(CHUNK_SECONDS / max(elements.body_seconds, 1e-9))))


def _outputs(context: PipelineContext, chunk: int) -> Iterator[tuple[Any, ...]]:
    """Yield the number and the outputs of element after element, in order, over and over."""
    pending: deque[tuple[Any, Future[tuple[Any, ...]]]] = deque()
    with ThreadPoolExecutor(context.settings.processes) as threads:
        for numbers, columns in _chunks(context.elements, chunk):
            pending.append((numbers, threads.submit(context.call_pool, columns)))
            if len(pending) > context.settings.processes:
                first, outputs = pending.popleft()
                yield from zip(first, *outputs.result(), strict=True)


def _chunks(elements: Elements, chunk: int) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    place, many = 0, len(elements.inputs)
    while True:
        numbers = np.arange(place, place + chunk) % many
        rows = [elements.inputs[number] for number in numbers]
        yield numbers, tuple(np.stack(column) for column in zip(*rows, strict=True))
        place = (place + chunk) % many


FORM = Form("process_generator", "Dataset.from_generator over a pool of processes", _arrange)

"""A batch at a time: the dataset of batches, and the body over one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.core.arrangement import Arrangement
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.form import Workplace, mapped

MOST_BATCH_SECONDS = 0.5
"""A batch that takes longer than that would leave no time for anything else; so slow a body gains nothing by it."""


def why_no_batch(elements: Elements, batch: int) -> str | None:
    """Return why there is no batch of so many elements, or None."""
    if not elements.stacks:
        return "outputs of different shapes cannot be put into a batch"
    seconds = batch * elements.body_seconds
    if seconds > MOST_BATCH_SECONDS and batch > 1:
        return f"a batch of {batch} would take {seconds:.1f} s; left out from {MOST_BATCH_SECONDS:g} s on"
    return None


def size_effort(batch: int) -> float:
    """Return what a larger batch counts for beside the effort: of two that are as good, the smaller takes less memory.

    Less than any difference between forms: 0.08 for 256 elements.
    """
    return 0.01 * math.log2(batch)


def row_by_row(elements: Elements, columns: Sequence[Any]) -> tuple[Any, ...]:
    """Return what the body makes of each element of a batch, in a loop: `(batch, ...)` of each output."""
    rows = [elements.as_outputs(elements.body(*row)) for row in zip(*columns, strict=True)]
    return tuple(np.stack(column) for column in zip(*rows, strict=True))


def in_callback(workplace: Workplace, arrangement: Arrangement, body: Callable[..., Sequence[Any]]) -> tf.data.Dataset:
    """Return batches that go through a body in one callback each."""
    elements = workplace.elements

    def work(*columns: Any) -> tuple[Any, ...]:
        returned = tf.numpy_function(body, columns, elements.dtypes, stateful=True)
        return elements.shaped(returned, arrangement.batch)

    return in_batches(workplace, arrangement, work)


def in_batches(workplace: Workplace, arrangement: Arrangement, work: Callable[..., tuple[Any, ...]]) -> tf.data.Dataset:
    """Return batches that go through a function of tensors."""
    batches = workplace.elements.source().batch(arrangement.batch, drop_remainder=True)
    return mapped(batches, work, arrangement, workplace.settings)

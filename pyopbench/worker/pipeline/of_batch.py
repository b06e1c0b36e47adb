"""A batch at a time: the dataset of batches, and the body over one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from pyopbench.model.arrangement import Arrangement
from pyopbench.model.errors import Unsupported
from pyopbench.model.op import Body
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.form import PipelineContext, PipelineSettings, mapped

MOST_BATCH_SECONDS = 0.25
"""A batch that takes longer than that would leave no time for anything else; so slow a body gains nothing by it."""

USUAL_BATCH = 32


def why_no_batch(elements: Elements, batch: int) -> str | None:
    """Return why there is no batch of so many elements, or None."""
    if not elements.stacks:
        return "outputs of different shapes cannot be put into a batch"
    seconds = batch * elements.body_seconds
    if seconds > MOST_BATCH_SECONDS and batch > 1:
        return f"a batch of {batch} would take {seconds:.1f} s; left out from {MOST_BATCH_SECONDS:g} s on"
    return None


def usual_batch(settings: PipelineSettings) -> int:
    """Return the one size of a batch for what gains by the first few dozen elements, and by more no longer."""
    return USUAL_BATCH if USUAL_BATCH in settings.batch else settings.batch[-1]


def size_effort(batch: int) -> float:
    """Return what a larger batch counts for beside the effort: of two that are as good, the smaller takes less memory.

    Less than any difference between forms: 0.08 for 256 elements.
    """
    return 0.01 * math.log2(batch)


def in_batched_form(context: PipelineContext, arrangement: Arrangement, names: Sequence[str]) -> tf.data.Dataset:
    """Return batches that go through a batched form of the op: the first of some that is right.

    Args:
        context: of the worker.
        arrangement: says how many elements a batch has.
        names: of `catalogue.batched.forms`, the preferred one first.

    Raises:
        Unsupported: none of them agrees with the body; with the reason of the last.
    """
    call = _first_right(context, names)
    return in_batches(context, arrangement, lambda *columns: context.elements.shaped(call(*columns), arrangement.batch))


def _first_right(context: PipelineContext, names: Sequence[str]) -> Body:
    """Return the first batched form that is right, and build none after it: that may take seconds."""
    form = None
    for name in names:
        form = context.batched_form(name)
        if form.call is not None:
            return form.call
    assert form is not None
    raise Unsupported(f"the batched form {form.name} is not right: {form.reason}")


def in_batches(
    context: PipelineContext, arrangement: Arrangement, work: Callable[..., tuple[Any, ...]]
) -> tf.data.Dataset:
    """Return batches that go through a function of tensors."""
    batches = context.elements.source().batch(arrangement.batch, drop_remainder=True)
    return mapped(batches, work, arrangement, context.settings)

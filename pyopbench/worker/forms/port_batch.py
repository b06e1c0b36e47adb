"""Batch first, then a port over the whole batch: as it stands where it takes the batch axis, else vectorised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.catalogue.gradients import as_tuple
from pyopbench.core.arrangement import AUTOTUNE, Arrangement
from pyopbench.core.errors import Unsupported
from pyopbench.core.failures import describe_error
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.form import Build, Form, Workplace
from pyopbench.worker.pipeline.of_batch import in_batches, why_no_batch
from pyopbench.worker.pipeline.of_variant import function_of, variants_for

EXTRA_EFFORT = 0.5
BATCHES = (32,)
"""Of all sizes the usual one: a port gains by the first few dozen elements, and by more no longer."""


def _arrange(workplace: Workplace) -> Iterator[tuple[Arrangement, Build | str]]:
    batches = [one for one in workplace.settings.batch if one in BATCHES] or workplace.settings.batch[-1:]
    for name, effort, reason in variants_for(workplace.elements, "port"):
        for batch in batches:
            code = f"ds.batch({batch}).map({name}_of_batch, num_parallel_calls=tf.data.AUTOTUNE)"
            arrangement = Arrangement("port_batch", "port", code, AUTOTUNE, batch, name, effort + EXTRA_EFFORT)
            yield arrangement, reason or why_no_batch(workplace.elements, batch) or partial(_build, arrangement)


def _build(arrangement: Arrangement, workplace: Workplace) -> tf.data.Dataset:
    elements = workplace.elements
    function = _of_batch(elements, function_of(elements, arrangement.variant))

    def work(*columns: Any) -> tuple[Any, ...]:
        return elements.shaped(function(*columns), arrangement.batch)

    return in_batches(workplace, arrangement, work)


def _of_batch(elements: Elements, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of an element as one of a batch.

    Raises:
        Unsupported: neither takes the function the batch axis, nor can TensorFlow vectorise it.
    """
    # A port that does not work for an element at all says so itself.
    tf.function(function, autograph=False)(*map(tf.constant, elements.inputs[0]))
    columns = [tf.constant(np.stack(column)) for column in zip(*elements.inputs, strict=True)]
    ways: tuple[Callable[..., Any], ...] = (
        function,
        lambda *batch: tf.vectorized_map(lambda row: function(*row), batch, fallback_to_while_loop=False),
    )
    reasons = [_why_not(elements, way, columns) for way in ways]
    fitting = [way for way, reason in zip(ways, reasons, strict=True) if reason is None]
    if not fitting:
        raise Unsupported(f"the port does not accept a batch, and cannot be vectorized: {reasons[-1]}")
    return fitting[0]


def _why_not(elements: Elements, way: Callable[..., Any], columns: Sequence[Any]) -> str | None:
    try:
        elements.check(np.arange(len(elements.inputs)), as_tuple(tf.function(way, autograph=False)(*columns)))
    except Exception as error:  # noqa: BLE001 - whatever TensorFlow says, the other way may do
        return describe_error(error)
    return None


FORM = Form("port_batch", "a port over a batch", _arrange)

"""Batch first, then one callback that goes through the batch in a loop: fewer trips, the same body."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import tensorflow as tf

from pyopbench.core.arrangement import Arrangement
from pyopbench.worker.pipeline.form import Build, Form, Workplace
from pyopbench.worker.pipeline.of_batch import in_callback, row_by_row, size_effort, why_no_batch


def _arrange(workplace: Workplace) -> Iterator[tuple[Arrangement, Build | str]]:
    for batch in workplace.settings.batch:
        code = f"ds.batch({batch}).map(loop_over_batch)"
        arrangement = Arrangement("batch_loop", "batch", code, batch=batch, extra_effort=size_effort(batch))
        yield arrangement, why_no_batch(workplace.elements, batch) or partial(_build, arrangement)


def _build(arrangement: Arrangement, workplace: Workplace) -> tf.data.Dataset:
    def loop(*columns: Any) -> tuple[Any, ...]:
        return row_by_row(workplace.elements, columns)

    return in_callback(workplace, arrangement, loop)


FORM = Form("batch_loop", "one callback for a batch, with a loop in it", _arrange)

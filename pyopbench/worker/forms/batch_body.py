"""Batch first, then one callback with the body over the whole batch, where NumPy takes the batch axis as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from pyopbench.core.arrangement import Arrangement
from pyopbench.core.errors import Unsupported, WrongResult
from pyopbench.core.failures import describe_error
from pyopbench.worker.pipeline.elements import Elements
from pyopbench.worker.pipeline.form import Build, Form, Workplace
from pyopbench.worker.pipeline.of_batch import in_callback, size_effort, why_no_batch


def _arrange(workplace: Workplace) -> Iterator[tuple[Arrangement, Build | str]]:
    for batch in workplace.settings.batch:
        code = f"ds.batch({batch}).map(f)"
        arrangement = Arrangement("batch_body", "batch", code, batch=batch, extra_effort=size_effort(batch) - 0.5)
        yield arrangement, why_no_batch(workplace.elements, batch) or partial(_build, arrangement)


def _build(arrangement: Arrangement, workplace: Workplace) -> tf.data.Dataset:
    elements = workplace.elements
    _require_batch_axis(elements)

    def whole(*columns: Any) -> tuple[Any, ...]:
        return elements.as_outputs(elements.body(*columns))

    return in_callback(workplace, arrangement, whole)


def _require_batch_axis(elements: Elements) -> None:
    """Look whether the body gives on all elements at once what it gives on each.

    Raises:
        Unsupported: it does not.
    """
    columns = [np.stack(column) for column in zip(*elements.inputs, strict=True)]
    try:
        elements.check(np.arange(len(elements.inputs)), elements.as_outputs(elements.body(*columns)))
    except WrongResult as error:
        raise Unsupported(f"the function does not accept a batch as it is: {describe_error(error)}") from error
    except Exception as error:
        raise Unsupported(f"the function does not accept a batch: {describe_error(error)}") from error


FORM = Form("batch_body", "one callback for a batch, with the body over all of it", _arrange)

"""A body that takes one example, called for each example of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopbench.model.op import Body, GradientBody, Op
from pyopbench.ports.arrays import as_array, as_given, as_tuple, one_or_tuple


def rows_of(batch: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return the inputs of each example of a batch, in the form in which a callback gets them."""
    return [as_given([np.asarray(array)[place, ...] for array in batch]) for place in range(len(batch[0]))]


def stacked(outputs: Sequence[Sequence[Any]], dtypes: Sequence[str]) -> tuple[Any, ...]:
    """Return one array for each output, from the outputs of each example.

    Raises:
        ValueError: the examples have outputs of different shapes.
    """
    by_output = zip(*outputs, strict=True)
    return tuple(
        np.stack([as_array(one, dtype) for one in each]) for each, dtype in zip(by_output, dtypes, strict=True)
    )


def python_loop(body: Body, dtypes: Sequence[str]) -> Body:
    """Return a body over arrays with a leading axis that calls another one for each example."""

    def over_batch(*batch: Any) -> Any:
        return one_or_tuple(stacked([as_tuple(body(*row)) for row in rows_of(batch)], dtypes))

    return over_batch


def gradient_loop(gradient: GradientBody, op: Op) -> GradientBody:
    """Return a gradient over arrays with a leading axis that calls that of one example for each."""

    def over_batch(inputs: Sequence[Any], outputs: Sequence[Any], incoming: Sequence[Any]) -> tuple[Any, ...]:
        dtypes = [np.asarray(inputs[place]).dtype.name for place in op.differentiable]
        rows = zip(rows_of(inputs), rows_of(outputs), rows_of(incoming), strict=True)
        return stacked([as_tuple(gradient(*row)) for row in rows], dtypes)

    return over_batch

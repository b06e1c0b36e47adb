"""A callback whose gradient is planted wrong in one element: the last is 1% too large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_variant

ERROR = 1.01


def _wrong_gradient(op: Op, inputs: Sequence[Any], outputs: Sequence[Any], output_gradients: Sequence[Any]) -> Any:
    assert op.numpy_gradient is not None
    (gradient,) = (array.copy() for array in op.numpy_gradient(inputs, outputs, output_gradients))
    gradient[-1] *= ERROR
    return (gradient,)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, op.numpy, partial(_wrong_gradient, op))


VARIANT = replace(
    load_variant("numpy_function"),
    name="wrong_gradient",
    summary="a wrong gradient, for tests",
    build=_build,
    role="by_name",
)

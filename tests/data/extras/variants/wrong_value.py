"""A callback that is wrong in one element: the last is 1% too large."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_variant

ERROR = 1.01


def _body(x: Any, op: Op) -> Any:
    outputs = op.numpy(x).copy()
    outputs[-1] *= ERROR
    return outputs


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, lambda x: _body(x, op), op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="wrong_value",
    summary="a wrong value, for tests",
    build=_build,
    unsupported=lambda op, case: None if case.direction == "forward" else "wrong_value is for forward cases only",
    role="by_name",
)

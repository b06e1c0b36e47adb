"""A callback whose body raises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_variant


def _body(*inputs: Any) -> Any:
    raise ValueError("raised by the body")


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, _body, op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="raising",
    summary="a body that raises, for tests",
    build=_build,
    unsupported=lambda op, case: None if case.direction == "forward" else "raising is for forward cases only",
    role="by_name",
)

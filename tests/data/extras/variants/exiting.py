"""A callback whose body ends its process."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.build_callback import build_callback
from pyopbench.ops.load import load_variant

EXIT_CODE = 7


def _body(*inputs: Any) -> Any:
    os._exit(EXIT_CODE)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, _body, op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="exiting",
    summary="a body that ends its process with an exit code, for tests",
    build=_build,
    unsupported=lambda op, case: None if case.direction == "forward" else "exiting is for forward cases only",
    role="by_name",
)

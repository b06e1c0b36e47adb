"""A callback whose body never returns. It writes its process id to the path in `HANGING_VARIABLE`, if that is set."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_variant

HANGING_VARIABLE = "PYOPBENCH_TESTS_HANGING"


def _body(*inputs: Any) -> Any:
    if path := os.environ.get(HANGING_VARIABLE):
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(str(os.getpid()))
    while True:
        time.sleep(3600)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, _body, op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="hanging",
    summary="a body that never returns, for tests",
    build=_build,
    unsupported=lambda op, case: None if case.direction == "forward" else "hanging is for forward cases only",
    role="by_name",
)

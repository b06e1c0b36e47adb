"""A callback whose body brings its process down as a bad pointer would."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_variant


def _body(*inputs: Any) -> Any:
    os.kill(os.getpid(), signal.SIGSEGV)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, _body, op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="crashing",
    summary="a body that ends its process by a signal, for tests",
    build=_build,
    unsupported=lambda op, case: None if case.direction == "forward" else "crashing is for forward cases only",
    role="by_name",
)

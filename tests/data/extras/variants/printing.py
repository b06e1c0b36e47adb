"""A callback whose body prints, in Python and past it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_variant

WORDS = "printed by the body"


def _body(x: Any, op: Op) -> Any:
    sys.stdout.write(f'{WORDS}\n{{"event": "done"}}\n')
    sys.stdout.flush()
    os.write(1, f"{WORDS}\n".encode())
    return op.numpy(x)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, lambda x: _body(x, op), op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="printing",
    summary="a body that prints, for tests",
    build=_build,
    role="by_name",
)

"""The op in TensorFlow ops, run eagerly behind `tf.py_function`."""

from __future__ import annotations

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS, build_callback, why_no_tape


def _build(op: Op, case: Case) -> Body:
    assert op.tensor is not None  # planned only for ops that have this body
    return build_callback(op, case, tf.py_function, op.tensor, op.tensor_gradient)


def _why_not(op: Op, case: Case) -> str | None:
    if op.py_function is not None and op.tensor is op.py_function:
        return "the py_function body is the current callback itself"
    return why_no_tape(op, case)


VARIANT = Variant(
    name="py_function",
    summary="TensorFlow ops run eagerly behind tf.py_function",
    body="tensor",
    kind="callback",
    effort=2,
    build=_build,
    gradients=("tape", *CALLBACK_GRADIENTS),
    function_options={"autograph": False},
    unsupported=_why_not,
)

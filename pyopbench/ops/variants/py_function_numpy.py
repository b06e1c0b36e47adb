"""The NumPy body behind `tf.py_function`, on `.numpy()` of each tensor: what most teams have today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS, build_callback, why_no_tape


def _bridge(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    def body(*tensors: Any) -> Any:
        return function(*(tensor.numpy() for tensor in tensors))

    return tf.py_function(body, inputs, dtypes)


def _as_it_stands(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    return tf.py_function(function, inputs, dtypes)


def _build(op: Op, case: Case) -> Body:
    if op.py_function is not None:  # it calls .numpy() itself, where it wants arrays
        return build_callback(op, case, _as_it_stands, op.py_function, op.tensor_gradient)
    return build_callback(op, case, _bridge, op.numpy, op.numpy_gradient)


def _why_not(op: Op, case: Case) -> str | None:
    if case.gradient == "tape" and op.py_function is None:
        return "the tape ends where the body takes .numpy() of its tensors"
    return why_no_tape(op, case)


VARIANT = Variant(
    name="py_function_numpy",
    summary="NumPy body behind tf.py_function, on .numpy() of each tensor",
    body="numpy",
    kind="callback",
    effort=1,
    build=_build,
    gradients=(*CALLBACK_GRADIENTS, "tape"),
    unsupported=_why_not,
    function_options={"autograph": False},
)

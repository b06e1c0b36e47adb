"""The NumPy body behind `tf.py_function`, on `.numpy()` of each tensor: what most teams have today."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.callbacks import CALLBACK_GRADIENTS, build_callback
from pyopbench.model import Body, Case, Op, Variant


def _bridge(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    def body(*tensors: Any) -> Any:
        return function(*(tensor.numpy() for tensor in tensors))

    return tf.py_function(body, inputs, dtypes)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, _bridge, op.numpy, op.numpy_gradient)


VARIANT = Variant(
    name="py_function_numpy",
    summary="NumPy body behind tf.py_function, on .numpy() of each tensor",
    body="numpy",
    kind="callback",
    effort=1,
    build=_build,
    gradients=CALLBACK_GRADIENTS,
    function_options={"autograph": False},
)

"""The NumPy body behind `tf.numpy_function`."""

from __future__ import annotations

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS, build_callback, why_no_eager_text


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, tf.numpy_function, op.numpy, op.numpy_gradient)


VARIANT = Variant(
    name="numpy_function",
    summary="NumPy body behind tf.numpy_function",
    body="numpy",
    kind="callback",
    effort=0,
    build=_build,
    gradients=CALLBACK_GRADIENTS,
    unsupported=why_no_eager_text,
    function_options={"autograph": False},
)

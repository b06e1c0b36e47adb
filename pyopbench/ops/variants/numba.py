"""The body compiled by Numba, behind `tf.numpy_function`: the callback stays, its Python goes."""

from __future__ import annotations

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS, build_callback
from pyopbench.ops.numba_bodies import why_no_numba


def _build(op: Op, case: Case) -> Body:
    assert op.numba is not None
    body, gradient = op.numba()
    return build_callback(op, case, tf.numpy_function, body, gradient)


def _why_not(op: Op, case: Case) -> str | None:
    if case.direction != "forward" and op.numpy_gradient is None:
        return "the op has no numpy_gradient, which a Numba body needs"
    return why_no_numba()


VARIANT = Variant(
    name="numba",
    summary="Numba body behind tf.numpy_function",
    body="numba",
    kind="callback",
    effort=1,
    build=_build,
    gradients=CALLBACK_GRADIENTS,
    function_options={"autograph": False},
    unsupported=_why_not,
)

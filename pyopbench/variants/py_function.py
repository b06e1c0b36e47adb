"""The op in TensorFlow ops, run eagerly behind `tf.py_function`."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from pyopbench.callbacks import CALLBACK_GRADIENTS, build_callback
from pyopbench.model import Body, Case, Op, Variant


def _build(op: Op, case: Case) -> Body:
    assert op.tensor is not None  # planned only for ops that have this body
    return build_callback(op, case, tf.py_function, op.tensor, op.tensor_gradient)


def _unsupported(op: Op, case: Case) -> str | None:
    # The gradient of EagerPyFunc takes None for a gradient of 0.0, which it cannot turn into whole numbers:
    # `EagerFunc._convert` and `_EagerPyFuncGrad` in tensorflow/python/ops/script_ops.py.
    if case.gradient != "tape":
        return None
    inputs = op.make_inputs(op.sizes[0], case.dtype, np.random.default_rng(0))
    whole = [np.asarray(array).dtype.kind != "f" for array in inputs]
    if any(whole) or len(op.floating_outputs) < len(op.outputs):
        return "py_function's own gradient fails in TensorFlow where an input or output is not floating"
    return None


VARIANT = Variant(
    name="py_function",
    summary="TensorFlow ops run eagerly behind tf.py_function",
    body="tensor",
    kind="callback",
    effort=2,
    build=_build,
    gradients=("tape", *CALLBACK_GRADIENTS),
    function_options={"autograph": False},
    unsupported=_unsupported,
)

"""The NumPy body behind `tf.compat.v1.py_func(stateful=False)` (a `PyFuncStateless` node).

It costs what `py_func` costs; it is told apart because graphs treat it differently. Grappler runs it not at all where
nothing uses its result, only while it optimises where the inputs are constants, and once where a function that holds
it is called twice with the same input; two calls of `py_func` itself stay two, because each has a token of its own.
A `PyFunc` runs every time. It is measured only where it is asked for by name.
"""

from __future__ import annotations

import functools

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS, build_callback, why_no_eager_text

_stateless_py_func = functools.partial(tf.compat.v1.py_func, stateful=False)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, _stateless_py_func, op.numpy, op.numpy_gradient)


VARIANT = Variant(
    name="py_func_stateless",
    summary="NumPy body behind tf.compat.v1.py_func(stateful=False)",
    body="numpy",
    kind="callback",
    effort=1,
    build=_build,
    gradients=CALLBACK_GRADIENTS,
    unsupported=why_no_eager_text,
    function_options={"autograph": False},
    role="by_name",
)

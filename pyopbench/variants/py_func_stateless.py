"""The NumPy body behind `tf.compat.v1.py_func(stateful=False)` (a `PyFuncStateless` node).

It costs what `py_func` costs; it is told apart because graphs treat it differently: Grappler may run it once for
two equal calls, or at optimisation time on constants. It is measured only where it is asked for by name.
"""

from __future__ import annotations

import functools

import tensorflow as tf

from pyopbench.callbacks import CALLBACK_GRADIENTS, build_callback
from pyopbench.model import Body, Case, Op, Variant

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
    function_options={"autograph": False},
    by_name_only=True,
)

"""The NumPy body behind `tf.py_function`, its result made a tensor on the CPU: what keeps it from going by the GPU.

A body of `tf.py_function` runs without a device scope, also where the op is pinned to the CPU. An ndarray that it
returns becomes a tensor on the GPU, where there is one, and is copied back to the CPU for an op that stands there.
Without a GPU it is `py_function_numpy` with one more call, so it is measured only where it is asked for by name;
`pyopbench placement` counts it beside that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.model.variant import Variant
from pyopbench.ops.build_callback import CALLBACK_GRADIENTS, build_callback
from pyopbench.ports.arrays import as_tuple, one_or_tuple


def _bridge(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    def body(*tensors: Any) -> Any:
        outputs = as_tuple(function(*(tensor.numpy() for tensor in tensors)))
        with tf.device("/CPU:0"):
            return one_or_tuple([tf.constant(output, dtype) for output, dtype in zip(outputs, dtypes, strict=True)])

    return tf.py_function(body, inputs, dtypes)


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, _bridge, op.numpy, op.numpy_gradient)


VARIANT = Variant(
    name="py_function_numpy_host",
    summary="as py_function_numpy, its result made a tensor on the CPU",
    body="numpy",
    kind="callback",
    effort=1,
    build=_build,
    gradients=CALLBACK_GRADIENTS,
    function_options={"autograph": False},
    role="by_name",
)

"""numpy_function slowed by more than 10%, whatever the op, its size and the machine.

Every call crosses the bridge and runs the body three times, one after the other, and returns the last result. What a
call of a `tf.function` costs besides (about the cost of one crossing at size 1) is paid once, so a call takes from
nearly twice to three times as long as one of numpy_function. The nodes are stateful: TensorFlow drops none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.gradients import build_callback
from pyopbench.ops.load import load_variant

CROSSINGS = 3


def _bridge(function: Body, inputs: Sequence[Any], dtypes: Sequence[str]) -> Any:
    outputs: Any = ()
    for _ in range(CROSSINGS):
        outputs = tf.numpy_function(function, inputs, dtypes)
    return outputs


def _build(op: Op, case: Case) -> Body:
    return build_callback(op, case, _bridge, op.numpy, op.numpy_gradient)


VARIANT = replace(
    load_variant("numpy_function"),
    name="slowed",
    summary="numpy_function that crosses the bridge three times, for tests",
    build=_build,
    role="by_name",
)

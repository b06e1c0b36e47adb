"""numpy_function slowed by a tenth of what a call takes when it is built, by waiting inside the body."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import tensorflow as tf

from pyopbench.model.case import Case
from pyopbench.model.op import Body, Op
from pyopbench.ops.build_callback import build_callback
from pyopbench.ops.load import load_variant, make_inputs

SLOWDOWN = 0.10
CALLS = 101

PLAIN = load_variant("numpy_function")


def _seconds_of_a_call(op: Op, case: Case) -> float:
    function = tf.function(PLAIN.build(op, case), autograph=False)
    tensors = [tf.constant(array) for array in make_inputs(op, case.size, case.dtype)]
    seconds = []
    for _ in range(CALLS):
        start = time.perf_counter()
        function(*tensors)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _build(op: Op, case: Case) -> Body:
    wait = SLOWDOWN * _seconds_of_a_call(op, case)

    def body(*arrays: Any) -> Any:
        end = time.perf_counter() + wait
        while time.perf_counter() < end:
            pass
        return op.numpy(*arrays)

    return build_callback(op, case, tf.numpy_function, body, op.numpy_gradient)


VARIANT = replace(
    PLAIN,
    name="slowed_tenth",
    summary="numpy_function slowed by a tenth, for tests; forward only",
    build=_build,
    role="by_name",
    unsupported=lambda op, case: None if case.direction == "forward" else "slowed forward only",
)

"""Each thread has inputs of its own, and what comes of its calls is looked at while all others call too."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import WrongResult
from pyopbench.ops.load import load_op
from pyopbench.worker import concurrent_calls
from pyopbench.worker.concurrent_calls import ConcurrentCall, prepare_concurrent
from pyopbench.worker.prepare.checks import make_reference

FORWARD = Case("sinh", "numpy_function", NO_GRADIENT, "forward", "call", "float32", 1000)
BACKWARD = Case("sinh", "numpy_function", "custom_gradient", "forward_backward", "call", "float32", 1000)


@pytest.mark.parametrize("case", [FORWARD, BACKWARD])
def test_threads_share_a_function_and_have_different_inputs(case: Case) -> None:
    calls = prepare_concurrent(case, 3)
    assert len(calls) == 3
    assert len({one.reference.inputs[0].tobytes() for one in calls}) == 3
    for one in calls:
        assert len(one.segments) == (1 if case is FORWARD else 2)
        one()
        assert one.check().reference.outputs == one.reference.outputs


def call(respond: Any) -> ConcurrentCall:
    op = load_op("sinh")
    reference = make_reference(op, (np.ones(4, np.float32),), "float32", np.random.default_rng(0))
    return ConcurrentCall(op, "float32", (lambda: respond(tf.constant(reference.outputs[0])),), reference)


def test_what_belongs_to_another_thread_is_wrong() -> None:
    """Alone each call is right; two that meet are handed what the other one asked for."""
    turns = itertools.count()
    meeting = threading.Barrier(2, timeout=30)

    def mixed_up(right: Any) -> Any:
        if next(turns) < 2:
            return right
        meeting.wait()
        return 2 * right

    calls = [call(mixed_up).check(), call(mixed_up).check()]
    with pytest.raises(WrongResult):
        concurrent_calls._check_together(calls)


def test_what_is_raised_under_threads_alone_is_wrong_too() -> None:
    turns = itertools.count()

    def losing(right: Any) -> Any:
        if next(turns):
            raise KeyError("pyfunc_1")
        return right

    calls = [call(losing).check()]
    with pytest.raises(WrongResult):
        concurrent_calls._check_together(calls)

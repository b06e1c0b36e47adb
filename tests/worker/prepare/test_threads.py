"""Calls from several threads are timed one by one; a gradient that is wrong under threads is refused.

Each thread has inputs of its own, and what comes of its calls is looked at while all others call too.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.errors import WrongResult
from pyopbench.ops.load import load_op, load_variant
from pyopbench.worker.group import WarmGroups
from pyopbench.worker.prepare import threads
from pyopbench.worker.prepare.checks import make_reference
from pyopbench.worker.prepare.prepare import prepare
from pyopbench.worker.prepare.threads import ConcurrentCall, call_together, prepare_together, repeat_call

FORWARD = Case("sinh", "numpy_function", NO_GRADIENT, "forward", "threads:3", "float32", 1000)
TAPE = Case("sinh", "py_function", "tape", "forward_backward", "threads:3", "float32", 1000)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def test_every_call_is_timed_for_as_long_as_was_asked_and_one_at_least() -> None:
    clock = Clock()
    assert repeat_call(lambda: clock.wait(0.25), 1.0, clock) == [0.25] * 4
    assert repeat_call(lambda: clock.wait(2.0), 1.0, clock) == [2.0]


def answer(of: Any, *cases: Case, **request: Any) -> dict[str, Any]:
    usual = {"cases": [one.id for one in cases], "launch": 0, "seed": 0, "finite_differences": False}
    found: dict[str, Any] = of({**usual, **request}, lambda event: None)
    return found


def test_a_case_is_called_by_so_many_threads_and_its_calls_are_counted() -> None:
    groups, cases = WarmGroups(), [FORWARD, replace(FORWARD, mode="threads:1")]
    assert answer(groups.prepare, *cases)["failures"] == []
    request = {"block_seconds": 0.001, "group_seconds": 0.1, "rounds": 2}
    found = [answer(groups.sample, *cases, first_round=2 * sweep, **request, **{"pass": sweep}) for sweep in range(2)]
    for case in cases:
        rows = [row for one in found for row in one["samples"][case.id]]
        assert [row[0] for row in rows] == [0, 1, 2, 3]
        assert all(row[2] >= case.threads and row[3] > 0 for row in rows)
        assert found[-1]["waits"][case.id]["calls"] == sum(row[2] for row in rows)


def test_the_seconds_of_a_block_are_those_of_its_rate() -> None:
    together, _ = prepare_together(load_op("sinh"), load_variant("numpy_function"), FORWARD)
    calls, seconds = together.block(0.0)
    assert calls >= 3
    assert seconds >= threads.BLOCK_SECONDS, "of threads that call for as long, though none has to begin on time"


def test_the_tape_of_py_function_is_refused_and_a_gradient_of_ones_own_is_not() -> None:
    with pytest.raises(WrongResult):
        prepare(TAPE)
    prepare(BACKWARD)


BACKWARD = Case("sinh", "numpy_function", "custom_gradient", "forward_backward", "threads:3", "float32", 1000)


@pytest.mark.parametrize("case", [FORWARD, BACKWARD])
def test_threads_share_a_function_and_have_different_inputs(case: Case) -> None:
    calls = prepare_together(load_op("sinh"), load_variant("numpy_function"), case)[0].calls
    assert len(calls) == 3
    assert len({one.reference.inputs[0].tobytes() for one in calls}) == 3
    for one in calls:
        assert len(one.segments) == (1 if case is FORWARD else 2)
        one()
        assert one.check()[0].reference.outputs == one.reference.outputs


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

    calls = [call(mixed_up).check()[0], call(mixed_up).check()[0]]
    with pytest.raises(WrongResult):
        threads._check_together(calls)


def test_what_is_raised_under_threads_alone_is_wrong_too() -> None:
    turns = itertools.count()

    def losing(right: Any) -> Any:
        if next(turns):
            raise KeyError("pyfunc_1")
        return right

    calls = [call(losing).check()[0]]
    with pytest.raises(WrongResult):
        threads._check_together(calls)


def test_all_are_called_at_once_and_their_results_come_in_order() -> None:
    meeting = threading.Barrier(3, timeout=30)

    def meet(place: int) -> int:
        meeting.wait()  # nobody gets past it alone
        return place

    assert call_together([partial(meet, place) for place in range(3)]) == [0, 1, 2]

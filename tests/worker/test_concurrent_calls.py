"""Calls from several threads are timed one by one; a gradient that is wrong under threads is refused.

Each thread has inputs of its own, and what comes of its calls is looked at while all others call too.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.case import NO_GRADIENT, Axes, Case
from pyopbench.model.errors import WrongResult
from pyopbench.ops.load import load_op
from pyopbench.store.threads_file import QUANTILES as STORED
from pyopbench.worker import concurrent_calls
from pyopbench.worker.concurrent_calls import (
    FEWEST_CALLS,
    QUANTILES,
    ConcurrentCall,
    ConcurrentCases,
    describe,
    prepare_concurrent,
    quantiles,
    timed_calls,
)
from pyopbench.worker.prepare.checks import make_reference

FORWARD = Case("sinh", "numpy_function", NO_GRADIENT, "forward", "call", "float32", 1000)
TAPE = Case("sinh", "py_function", "tape", "forward_backward", "call", "float32", 1000)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def test_every_call_is_timed_for_as_long_as_was_asked_and_one_at_least() -> None:
    clock = Clock()
    assert timed_calls(lambda: clock.wait(0.25), 1.0, clock) == [0.25] * 4
    assert timed_calls(lambda: clock.wait(2.0), 1.0, clock) == [2.0]


def test_quantiles_are_those_of_numpy_and_none_of_too_few_calls() -> None:
    values = np.random.default_rng(0).random(500).tolist()
    assert quantiles(values) == {name: np.quantile(values, share) for name, share in QUANTILES.items()}
    assert quantiles(values[:99]) == {"p50": np.quantile(values[:99], 0.5), "p95": None, "p99": None}
    assert quantiles(values[: FEWEST_CALLS - 1])["p50"] is None
    assert tuple(QUANTILES) == STORED


def answer(of: Any, **request: Any) -> dict[str, Any]:
    found: dict[str, Any] = of(request, lambda event: None)
    return found


def test_a_case_is_called_by_so_many_threads_and_its_calls_are_counted() -> None:
    cases = ConcurrentCases()
    assert answer(cases.prepare, case=FORWARD.id, threads=2) == {}
    blocks = [answer(cases.block, case=FORWARD.id, threads=2, seconds=0.001) for _ in range(2)]
    assert all(one["calls"] >= 2 and one["rate"] > 0 for one in blocks)
    told = answer(cases.latencies, case=FORWARD.id, threads=2)
    assert told["calls"] == sum(one["calls"] for one in blocks)


def test_the_tape_of_py_function_is_refused_and_a_gradient_of_ones_own_is_not() -> None:
    assert answer(ConcurrentCases().prepare, case=TAPE.id, threads=2)["failure"]["status"] == "wrong"
    own = Case("sinh", "numpy_function", "custom_gradient", "forward_backward", "call", "float32", 1000)
    assert answer(ConcurrentCases().prepare, case=own.id, threads=2) == {}


@pytest.mark.parametrize(("sizes", "count"), [((), 1), ((10, 1000), 2)])
def test_one_size_is_called_unless_sizes_are_named(sizes: tuple[int, ...], count: int) -> None:
    axes = asdict(Axes(ops=("sinh",), variants=("native", "numpy_function"), sizes=sizes))
    found = answer(describe, axes=axes)
    cases = [Case.from_id(one) for one in found["cases"]]
    assert len({one.size for one in cases}) == count
    assert {one.mode for one in cases} == {"call"}
    assert {one.direction for one in cases} == {"forward", "forward_backward"}
    assert {found["kinds"][one.variant] for one in cases} == {"port", "callback"}


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

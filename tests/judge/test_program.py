"""The user's mix of sizes, and what a port is worth in a step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from frames import Bench, run_of
from pyopbench.judge.judge import judge_run
from pyopbench.judge.program import calls_in, calls_mix, even_mix

TODAY = "py_function_numpy"


def test_an_even_mix_is_the_trapezoid_rule_over_the_log_of_the_size() -> None:
    """By hand: decades of 1 and 2 give the weights 1/2, 3/2 and 1, over 3."""
    mix = even_mix((10, 100, 10_000))
    np.testing.assert_allclose(mix.pull, [1 / 6, 1 / 2, 1 / 3])
    assert mix.needed == (10, 100, 10_000)


def test_all_of_an_even_mix_is_at_the_only_size() -> None:
    assert even_mix((7,)).pull.tolist() == [1.0]


def test_calls_are_turned_into_time_by_the_baseline() -> None:
    """By hand: 3 calls of 1 s and 1 call of 9 s are 3 s and 9 s."""
    mix = calls_mix({100: 1, 10: 3}, {10: 1.0, 100: 9.0})
    assert mix.needed == (10, 100)
    np.testing.assert_allclose(mix.pull, [0.25, 0.75])


def test_between_measured_sizes_seconds_are_straight_in_the_logs_and_shares_over_the_log_of_the_size() -> None:
    """By hand: 100 is half way from 10 to 1000, so seconds are sqrt(1 * 16) and the share is (0.2 + 0.8) / 2."""
    mix = calls_mix({10: 1, 100: 1}, {10: 1.0, 1000: 16.0, 100_000: 5.0})
    assert mix.needed == (10, 1000)
    np.testing.assert_allclose(mix.pull, [0.2 + 0.8 / 2, 0.8 / 2])


def test_a_mix_at_measured_sizes_draws_on_no_others() -> None:
    assert calls_mix({100: 1}, {10: 1.0, 100: 2.0, 1000: 3.0}).needed == (100,)
    assert calls_mix({10: 1}, {10: 1.0}).needed == (10,)


def test_the_calls_of_a_dtype_are_those_of_all_where_the_mix_names_none() -> None:
    calls = {("uint8", 60): 2.0, ("float32", 500): 1.0, ("float32", 60): 3.0}
    assert calls_in(calls, "float32") == {500: 1.0, 60: 3.0}
    assert calls_in(calls, "float64") == {}
    assert calls_in({60: 2.0}, "float64") == {60: 2.0}


def test_shares_sum_to_one() -> None:
    mix = calls_mix({20: 0.3, 30: 7, 900: 2}, {10: 1e-5, 1000: 1e-3})
    assert math.isclose(mix.pull.sum(), 1.0)


@pytest.mark.parametrize(
    ("calls", "answer"),
    [
        ({1_000: 1.0, 9_000: 3.0}, ("port", "clear_gain", ())),
        ({999: 1.0, 5_000: 1.0, 10_001: 1.0}, ("undecided", "beyond_measured", (999, 10_001))),
        ({("float32", 99_999): 1.0}, ("undecided", "beyond_measured", (99_999,))),
        ({("float64", 1_000): 1.0}, ("undecided", "dtype_not_called", ())),
    ],
)
def test_an_answer_needs_a_number_of_the_callback_around_every_size_of_the_mix(calls, answer) -> None:
    run = run_of(Bench({TODAY: {1_000: 1e-4, 10_000: 1e-4}, "native": 1e-5}))
    (decision,) = judge_run(run, mix=calls).decisions
    assert (decision.action, decision.reason.kind, decision.reason.sizes) == answer

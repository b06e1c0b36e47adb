"""How often gates over identical code tell something apart, and find what is slower: by simulation with known truth."""

from __future__ import annotations

import pytest

from pyopbench.judge.comparison.verdicts import INTERLEAVED_ERROR
from simulated_gates import NOISES, Gate, false_alarms, found_slower

MOST_APART = 0.001
"""Of rows: two of two thousand."""


@pytest.mark.parametrize("launches", [2, 3])
def test_few_launches_of_many_cases_tell_hardly_a_row_of_identical_code_apart(launches: int) -> None:
    rates = [
        false_alarms(Gate(45, launches, noise, INTERLEAVED_ERROR), 20, seed)
        for seed, noise in enumerate(NOISES.values())
    ]
    assert sum(one.rows for one in rates) / len(rates) <= MOST_APART


def test_a_gate_of_few_cases_has_a_false_alarm_in_hardly_one_of_a_hundred() -> None:
    rates = [
        false_alarms(Gate(6, 4, noise, INTERLEAVED_ERROR), 100, seed) for seed, noise in enumerate(NOISES.values())
    ]
    assert sum(one.gates for one in rates) / len(rates) <= INTERLEAVED_ERROR


def test_a_twentieth_slower_is_found_with_as_many_launches_as_six_cases_have_in_ten_minutes() -> None:
    assert found_slower(Gate(6, 12, NOISES["1%"], INTERLEAVED_ERROR), 0.05, 20, 1).gates == 1.0


def test_the_usual_error_of_a_report_would_be_too_large_for_a_gate() -> None:
    """The false alarms of the stricter gate are fewer, on the same draws."""
    loose, strict = (
        [false_alarms(Gate(45, 3, noise, error), 20, seed).rows for seed, noise in enumerate(NOISES.values())]
        for error in (0.05, INTERLEAVED_ERROR)
    )
    assert sum(strict) < sum(loose)

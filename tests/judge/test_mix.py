"""Which sizes and dtypes of a mix a setting can answer for, and the choice over them."""

from __future__ import annotations

import pytest

from frames import Bench, run_of
from pyopbench.judge.candidates import SettingComparison
from pyopbench.judge.choice import Rules
from pyopbench.judge.judge import check_mix, choose_over_mix, is_called, judge_run, sizes_beyond
from pyopbench.judge.program import Calls
from pyopbench.model.errors import BadInput

TODAY = "py_function_numpy"


@pytest.fixture(scope="module")
def comparison() -> SettingComparison:
    """Today's callback has numbers from 1,000 to 10,000 of the 1,000 to 100,000 that were asked for."""
    return judge_run(run_of(Bench({TODAY: {1_000: 1e-4, 10_000: 1e-4}, "native": 1e-5}))).comparisons[0]


@pytest.mark.parametrize(
    ("calls", "called"), [(None, True), ({1: 1.0}, True), ({("float32", 1): 1.0}, True), ({("float64", 1): 1.0}, False)]
)
def test_a_mix_without_dtypes_calls_every_dtype(
    comparison: SettingComparison, calls: Calls | None, called: bool
) -> None:
    assert is_called(comparison, calls) == called


@pytest.mark.parametrize(
    ("calls", "beyond"),
    [
        (None, []),
        ({1_000: 1.0, 10_000: 1.0}, []),
        ({10_001: 1.0, 999: 1.0, 5_000: 1.0}, [999, 10_001]),
        ({("float64", 1): 1.0, ("float32", 99_999): 1.0}, [99_999]),
    ],
)
def test_sizes_beyond_what_was_measured_are_told_in_order(
    comparison: SettingComparison, calls: Calls | None, beyond: list[int]
) -> None:
    assert sizes_beyond(comparison, calls) == beyond


def test_there_is_a_choice_over_the_mix_where_the_baseline_has_every_size_of_it(comparison: SettingComparison) -> None:
    made = choose_over_mix(comparison, Rules(0.03), {1_000: 1.0, 9_000: 3.0})
    assert made is not None
    choice, mix = made
    assert choice.label == "native"
    assert mix.needed == (1_000, 10_000)
    assert choose_over_mix(comparison, Rules(0.03), {1_000: 1.0, 90_000: 1.0}) is None


def test_a_mix_that_fits_nothing_that_was_asked_for_is_refused(comparison: SettingComparison) -> None:
    with pytest.raises(BadInput) as caught:
        check_mix([comparison], {10: 1.0})
    assert (caught.value.message, caught.value.received, caught.value.legal) == (
        "the mix has sizes outside the measured range of py_function_numpy for sinh",
        "10",
        "sizes from 1000 to 10000",
    )
    with pytest.raises(BadInput) as caught:
        check_mix([comparison], {("float64", 1_000): 1.0})
    assert (caught.value.message, caught.value.received, caught.value.legal) == (
        "no dtype of the mix was measured",
        "float64",
        "float32",
    )

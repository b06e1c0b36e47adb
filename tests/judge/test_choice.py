"""Which candidate is chosen, on numbers small enough to follow by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from frames import Bench, run_of
from pyopbench.core.errors import BadInput
from pyopbench.judge.candidates import Candidate, Comparison
from pyopbench.judge.choice import Choice, Rules, choose, choose_over_mix, is_called, rulebook_of, sizes_beyond
from pyopbench.judge.decide import judge
from pyopbench.judge.findings import Answer
from pyopbench.judge.mix import Calls, even_mix
from pyopbench.stats.looks import Looks

ONE_SIZE = even_mix((10,))
TODAY = "py_function_numpy"


def candidate(label: str, *gains: float, kind: str = "port", effort: float = 1) -> Candidate:
    """A candidate at one size with one gain per launch."""
    return Candidate(label, kind, effort, pd.DataFrame({10: -np.log(gains)}))


def choice_of(*candidates: Candidate) -> Choice:
    return choose(candidates, ONE_SIZE, Rules(0.03))


def test_a_clear_port_is_chosen_and_its_interval_is_corrected_for_the_candidates() -> None:
    """By hand: logs of 2 with deviation 0.01 over 4 launches; t(1 - 0.025 / 2, 3) = 4.17653 for two candidates."""
    steps = np.array([-1.0, -1.0, 1.0, 1.0]) * 0.01 * math.sqrt(3 / 4)
    choice = choice_of(candidate("native", *(2 * np.exp(steps))), candidate("xla", 0.9, 0.91, 0.9, 0.91))
    assert choice.answer == Answer("port", "native")
    assert choice.gain is not None
    assert choice.gain.value == pytest.approx(2)
    assert choice.gain.low == pytest.approx(2 * math.exp(-4.17653 * 0.005), rel=1e-6)
    assert choice.gain.high == pytest.approx(2 * math.exp(4.17653 * 0.005), rel=1e-6)


def test_going_to_another_callback_is_a_switch() -> None:
    switch = choice_of(candidate("numpy_function", 2, 2.01, 2.02, kind="callback"))
    assert switch.answer == Answer("switch", "numpy_function")


def test_nothing_worth_it_is_keep() -> None:
    choice = choice_of(candidate("native", 0.5, 0.51, 0.5), candidate("xla", 1.0, 1.001, 0.999))
    assert (choice.action, choice.label) == ("keep", None)
    assert choice.gain is not None
    assert choice.gain.label == "xla"


def test_one_candidate_that_might_be_worth_it_leaves_it_undecided() -> None:
    choice = choice_of(candidate("native", 0.5, 0.51, 0.5), candidate("xla", 0.9, 1.2, 0.95))
    assert choice.action == "undecided"
    assert [gain.label for gain in choice.open] == ["xla"]


def test_one_launch_is_undecided_however_large_the_gain() -> None:
    choice = choice_of(candidate("native", 50.0))
    assert choice.action == "undecided"
    assert choice.gain is not None
    assert choice.gain.value == pytest.approx(50)
    assert math.isnan(choice.gain.low)
    assert choice.open == choice.gains


def test_no_candidate_is_undecided_and_has_no_gain() -> None:
    assert (choice_of().answer, choice_of().gain) == (Answer("undecided", None), None)


def test_more_effort_is_chosen_only_where_it_is_clearly_faster_by_more_than_the_minimum_effect() -> None:
    best = candidate("xla", 3.00, 3.001, 2.999, effort=4)
    near = candidate("tnp", 2.95, 2.951, 2.949, effort=2)
    far = candidate("numpy_function", 2.80, 2.801, 2.799, effort=0, kind="callback")
    assert choice_of(best, near).label == "tnp"
    assert choice_of(best, far).label == "xla"
    assert choice_of(best, near, far).label == "tnp"


def test_a_faster_centre_that_is_not_sure_to_be_faster_does_not_pay_for_more_effort() -> None:
    sure = candidate("tnp", 2.0, 2.01, 1.99, effort=2)
    unsure = candidate("xla", 2.1, 2.9, 2.3, effort=4)
    assert choice_of(sure, unsure).label == "tnp"


def test_candidates_are_compared_launch_by_launch() -> None:
    """Both vary fourfold from launch to launch, and the ratio of the two hardly at all."""
    slow = candidate("tnp", 4.0, 8.0, 16.0, 8.0, 6.0, 10.0, effort=2)
    fast = candidate("xla", 4.81, 9.6, 19.2, 9.59, 7.2, 12.0, effort=4)
    assert choice_of(slow, fast).label == "xla"


def test_the_preferred_one_is_left_only_for_one_that_is_clearly_faster() -> None:
    native, tnp = candidate("native", 3.0, 3.01, 2.99, effort=4), candidate("tnp", 3.02, 3.0, 3.01, effort=2)
    assert choose([native, tnp], ONE_SIZE, Rules(0.03, preferred="native")).label == "native"
    assert choose([native, tnp], ONE_SIZE, Rules(0.03)).label == "tnp"
    faster = candidate("tnp", 3.2, 3.21, 3.19, effort=2)
    assert choose([native, faster], ONE_SIZE, Rules(0.03, preferred="native")).label == "tnp"
    slower_than_today = candidate("native", 0.9, 0.91, 0.89, effort=4)
    assert choose([slower_than_today, tnp], ONE_SIZE, Rules(0.03, preferred="native")).label == "tnp"


def test_with_equal_effort_the_name_decides_whatever_the_order() -> None:
    one, other = candidate("beta", 3.0, 3.01, 2.99), candidate("alpha", 2.99, 3.0, 2.98)
    assert choice_of(one, other).label == choice_of(other, one).label == "alpha"


def test_a_fast_but_uncertain_candidate_does_not_stand_in_for_a_sure_one() -> None:
    """Its centre is higher and its effort less, but its lower bound is below the threshold."""
    unsure = candidate("native", 2.0, 9.0, 3.0, effort=0)
    assert choice_of(candidate("xla", 3.0, 3.01, 2.99), unsure).label == "xla"


def test_only_launches_with_every_size_count() -> None:
    mix = even_mix((10, 100))
    logs = pd.DataFrame({10: -np.log([2.0, 2.0, 9.0]), 100: [-math.log(2), -math.log(2), math.nan]})
    gain = choose([Candidate("native", "port", 1, logs)], mix, Rules(0.03)).gain
    assert gain is not None
    assert gain.log.n == 2
    assert gain.value == pytest.approx(2)


def test_a_candidate_without_some_size_is_none_for_the_mix() -> None:
    mix = even_mix((10, 100))
    lacking = Candidate("native", "port", 1, pd.DataFrame({10: [-1.0, -1.0, -1.0]}))
    assert lacking.lacks(mix) == (100,)
    assert choose([lacking], mix, Rules(0.03)).gains == ()
    assert choose([lacking], even_mix((10,)), Rules(0.03)).label == "native"


def test_the_gain_over_a_mix_is_time_today_over_time_afterwards() -> None:
    """By hand: half the time at each size, twice as fast at one and half as fast at the other: 1 / 1.25."""
    logs = pd.DataFrame({10: [-math.log(2)] * 2, 100: [math.log(2)] * 2})
    gain = choose([Candidate("native", "port", 1, logs)], even_mix((10, 100)), Rules(0.03)).gain
    assert gain is not None
    assert gain.value == pytest.approx(1 / 1.25)


def test_a_port_that_is_not_worth_it_is_rarely_advised() -> None:
    """Four candidates exactly at the threshold, where the error is largest: at most 5% of runs advise one of them."""
    rng = np.random.default_rng(2)
    mix, runs = even_mix((10, 100)), 500
    ratios = rng.standard_normal((runs, 4, 4, 2)) * 0.02 - math.log(1.03)
    advised = 0
    for run in ratios:
        frames = [pd.DataFrame(logs, columns=[10, 100]) for logs in run]
        candidates = [Candidate(f"c{i}", "port", i, logs) for i, logs in enumerate(frames)]
        advised += choose(candidates, mix, Rules(0.03)).action == "port"
    assert advised <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)


def test_rivals_are_those_that_more_launches_could_show_to_be_above_the_chosen_one() -> None:
    chosen = candidate("tnp", 3.0, 3.01, 2.99, 3.0, effort=2)
    open_still = candidate("xla", 3.1, 4.2, 3.0, 3.9, effort=4)
    equal = candidate("native", 3.01, 3.0, 3.0, 2.99, effort=3)
    no_gain = candidate("py_func", 0.5, 0.51, 0.5, 0.5, effort=1)
    choice = choice_of(chosen, open_still, equal, no_gain)
    assert choice.label == "tnp"
    assert [gain.label for gain in choice.rivals] == ["xla"]


def test_without_a_choice_there_are_no_rivals() -> None:
    assert choice_of(candidate("native", 0.9, 1.2, 0.95)).rivals == ()
    assert choice_of(candidate("native", 0.5, 0.51, 0.5)).rivals == ()


def test_a_rival_that_shares_one_launch_with_the_chosen_one_stays_a_rival() -> None:
    """One number has no interval; a second launch could change the answer."""
    chosen = candidate("tnp", 3.0, 3.01, 2.99, effort=2)
    other = Candidate("xla", "port", 4, pd.DataFrame({10: -np.log([9.0, 9.1])}, index=[2, 3]))
    assert [gain.label for gain in choice_of(chosen, other).rivals] == ["xla"]


def test_looks_are_paid_for_in_the_level_of_every_gain() -> None:
    candidates = [candidate("native", 1.2, 1.25, 1.15), candidate("xla", 0.9, 0.91, 0.9)]
    once = choose(candidates, ONE_SIZE, Rules(0.03)).gains
    often = choose(candidates, ONE_SIZE, Rules(0.03, looks=Looks(5))).gains
    assert [gain.level for gain in once] == pytest.approx([1 - 0.05 / 2] * 2)
    assert [gain.level for gain in often] == pytest.approx([1 - 0.05 / 10] * 2)
    assert often[0].low < once[0].low


# which sizes and dtypes of a mix a setting can answer for, and the choice over them


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Today's callback has numbers from 1,000 to 10,000 of the 1,000 to 100,000 that were asked for."""
    return judge(run_of(Bench({TODAY: {1_000: 1e-4, 10_000: 1e-4}, "native": 1e-5}))).comparisons[0]


@pytest.mark.parametrize(
    ("calls", "called"), [(None, True), ({1: 1.0}, True), ({("float32", 1): 1.0}, True), ({("float64", 1): 1.0}, False)]
)
def test_a_mix_without_dtypes_calls_every_dtype(comparison: Comparison, calls: Calls | None, called: bool) -> None:
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
    comparison: Comparison, calls: Calls | None, beyond: list[int]
) -> None:
    assert sizes_beyond(comparison, calls) == beyond


def test_there_is_a_choice_over_the_mix_where_the_baseline_has_every_size_of_it(comparison: Comparison) -> None:
    made = choose_over_mix(comparison, rulebook_of([comparison], Rules(0.03), {1_000: 1.0, 9_000: 3.0}))
    assert made is not None
    choice, mix = made
    assert choice.label == "native"
    assert mix.sizes == (1_000, 9_000)
    assert choose_over_mix(comparison, rulebook_of([comparison], Rules(0.03), {1_000: 1.0, 90_000: 1.0})) is None


def test_a_mix_that_fits_nothing_that_was_asked_for_is_refused(comparison: Comparison) -> None:
    with pytest.raises(BadInput, match="outside the measured range"):
        rulebook_of([comparison], Rules(0.03), {10: 1.0})
    with pytest.raises(BadInput, match="no dtype that was measured"):
        rulebook_of([comparison], Rules(0.03), {("float64", 1_000): 1.0})

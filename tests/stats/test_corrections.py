"""Many verdicts at several interim analyses: Holm's steps, their intervals, and how often any verdict is wrong."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from pyopbench.stats import estimate
from pyopbench.stats.corrections import (
    MOST_ANALYSES,
    ONE_ANALYSIS,
    Analyses,
    Step,
    border_p,
    decisive_level,
    holm,
    step_down,
)
from pyopbench.stats.estimate import FAMILY_ERROR, Estimate

pytestmark = pytest.mark.long

DELTA = math.log1p(0.03)
BEYOND = DELTA + 1e-9


@pytest.mark.parametrize(("held", "charged"), [(0, 1), (1, 2), (2, 3), (40, MOST_ANALYSES)])
def test_only_looks_that_were_held_are_charged_for(held: int, charged: int) -> None:
    """A look that was planned and not held has cost nothing: time ended the run, and not the data."""
    assert Analyses.of(held) == Analyses(charged)


def test_a_run_that_could_not_be_looked_at_is_looked_at_once() -> None:
    assert Analyses.of(0) == ONE_ANALYSIS


def test_each_look_has_an_equal_share_of_the_error() -> None:
    """By hand: 5% over 10 verdicts and 5 looks is 0.1% each, and a p of 0.1% counts as 0.5%."""
    assert Analyses(5).share(0.05, 10) == pytest.approx(0.001)
    assert Analyses(5).spent(0.001) == pytest.approx(0.005)
    assert (ONE_ANALYSIS.share(0.05, 10), ONE_ANALYSIS.spent(0.2)) == (0.005, 0.2)


def test_holm_by_hand() -> None:
    """4 * 0.005, 3 * 0.01, 2 * 0.03, then 0.04 held up to 0.06 by the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_holm_is_the_closed_test_of_bonferroni(p: list[float]) -> None:
    """By definition: the largest Bonferroni p of any set of hypotheses that the one belongs to."""
    indices = range(len(p))
    subsets = [set(chosen) for size in indices for chosen in itertools.combinations(indices, size + 1)]
    expected = [max(min(1, len(s) * min(p[j] for j in s)) for s in subsets if i in s) for i in indices]
    assert holm(p) == pytest.approx(expected)


def launches(mean: float, spread: float = 0.02, n: int = 4) -> Estimate:
    """Return the estimate of n launches with exactly this mean and standard deviation."""
    unit = np.linspace(-1.0, 1.0, n)
    return Estimate.of(mean + spread * unit / unit.std(ddof=1))


def test_without_a_minimum_effect_it_is_the_two_sided_t_test() -> None:
    values = np.array([0.02, 0.05, 0.01, 0.07])
    assert border_p(Estimate.of(values), 0.0) == pytest.approx(reference.ttest_1samp(values, 0.0).pvalue)


def test_far_from_the_other_border_it_is_the_one_sided_test() -> None:
    values = np.array([0.52, 0.55, 0.51, 0.57])
    expected = reference.ttest_1samp(values, 0.5, alternative="greater").pvalue
    assert border_p(Estimate.of(values), 0.5) == pytest.approx(expected, rel=1e-3)
    assert border_p(Estimate.of(-values), 0.5) == pytest.approx(expected, rel=1e-3)


def test_an_equivalent_case_is_clear_of_both_borders() -> None:
    """Both one-sided tests of Schuirmann's, of which the nearer border decides."""
    values = np.array([0.010, 0.012, 0.008, 0.011])
    above = reference.ttest_1samp(values, -DELTA, alternative="greater").pvalue
    below = reference.ttest_1samp(values, DELTA, alternative="less").pvalue
    assert border_p(Estimate.of(values), DELTA) == pytest.approx(max(above, below), rel=0.02)


@pytest.mark.parametrize("looks", [ONE_ANALYSIS, Analyses(3)])
@pytest.mark.parametrize("delta", [0.0, 0.001, DELTA])
def test_an_interval_holds_a_border_exactly_where_its_case_is_open(delta: float, looks: Analyses) -> None:
    rng = np.random.default_rng(3)
    means = rng.choice([0.0, 0.05, -0.3], 40)
    cases = estimate.moderated([Estimate.of(mean + rng.normal(0.0, 0.03, 5)) for mean in means])
    steps = step_down(cases, delta, looks)
    for one, step in zip(cases, steps, strict=True):
        low, high = one.interval(step.level)
        holds = any(low <= border <= high for border in (-delta, delta))
        assert holds == (step.p > FAMILY_ERROR)
    assert 0 < sum(step.p <= FAMILY_ERROR for step in steps) < len(steps)


def test_each_step_leaves_more_to_the_next_until_one_fails() -> None:
    cases = [launches(0.5), launches(0.0501), launches(1.0), launches(0.0502)]
    assert [step.cases for step in step_down(cases, DELTA)] == [3, 2, 4, 2]
    assert [step.cases for step in step_down(cases, DELTA, Analyses(10**9))] == [4, 4, 4, 4]


def test_what_has_no_spread_shares_no_error() -> None:
    alone, lost = launches(0.07), Estimate.of([0.5])
    with_others = step_down([lost, alone, Estimate.of([]), lost], DELTA)
    assert with_others[1] == step_down([alone], DELTA)[0]
    assert with_others[0].p == 1.0
    assert math.isnan(with_others[0].level)
    assert step_down([], DELTA) == []
    assert step_down([Estimate.of([math.nan, 1.0])], DELTA)[0].p == 1.0


def test_launches_that_agree_to_the_last_digit_are_settled() -> None:
    (same,) = step_down([Estimate.of([0.5, 0.5])], DELTA)
    assert same.p == 0.0
    assert Estimate.of([0.5, 0.5]).interval(same.level) == (0.5, 0.5)
    assert 0 < decisive_level(launches(0.0), DELTA, 0.05) < 1


CASES = 20


def simulated(true: Sequence[float], spread: float, seed: int, n: int = 4) -> list[Estimate]:
    """Return estimates of cases whose launches differ by t(5) noise, each by a spread of its own."""
    rng = np.random.default_rng(seed)
    spreads = spread * np.exp(0.5 * rng.standard_normal(len(true)))
    noise = rng.standard_t(5, (len(true), n)) / math.sqrt(5 / 3)
    return estimate.moderated([Estimate.of(row) for row in np.array(true)[:, None] + spreads[:, None] * noise])


def is_wrong(one: Estimate, step: Step, true: float) -> bool:
    if step.p > FAMILY_ERROR:
        return False
    if abs(one.mean) <= DELTA:
        return abs(true) > DELTA
    return math.copysign(1.0, one.mean) * true <= DELTA


@pytest.mark.nightly
@pytest.mark.parametrize("spread", [0.005, pytest.param(0.05, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    "true", [[0.0] * CASES, [DELTA] * CASES, [BEYOND] * CASES, [DELTA] * 10 + [0.5] * 10, [BEYOND] * 10 + [0.0] * 10]
)
def test_any_verdict_is_wrong_in_at_most_one_comparison_of_twenty(true: list[float], spread: float) -> None:
    """The borders themselves are the worst there is: a hair less or more would be another verdict."""
    trials = 200
    wrong = 0
    for seed in range(trials):
        cases = simulated(true, spread, seed)
        steps = step_down(cases, DELTA)
        wrong += any(is_wrong(*each) for each in zip(cases, steps, true, strict=True))
    assert wrong / trials <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)


def test_more_is_found_than_by_an_equal_share_for_each_case() -> None:
    """Half of the cases differ by 10%, half not at all; single steps share 5% among cases, two-sided."""
    true = [0.0] * 10 + [0.1] * 10
    steps = single = 0
    for seed in range(100):
        cases = simulated(true, 0.02, seed, n=8)
        steps += sum(step.p <= FAMILY_ERROR for step in step_down(cases, DELTA))
        single += sum(CASES * one.effect_p(DELTA) <= FAMILY_ERROR for one in cases)
    assert steps >= 1.15 * single

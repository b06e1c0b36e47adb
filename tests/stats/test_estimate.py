"""Intervals cover, corrected verdicts stay quiet on equal code, and pairing removes what is common."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as scipy_stats

from frames import Bench, Noise, heavy, normal, spikes
from pyopbench.model.case import Case
from pyopbench.stats import estimate as statistics
from pyopbench.stats.corrections import holm
from pyopbench.stats.estimate import Estimate, mean_and_deviation
from pyopbench.stats.unresolved import MoreLaunches

pytestmark = pytest.mark.long

GROUPS = 4000
SIZES = tuple(range(1000, 1000 + GROUPS))
COVERAGE_ERROR = 3.5 * math.sqrt(0.95 * 0.05 / GROUPS)
"""How far simulated coverage may lie from 95%: three and a half standard errors."""
DELTA = math.log(1.03)


def pairs(bench: Bench) -> dict[str, str]:
    """Each native case with the baseline case of its group."""
    cases = [case for case, _ in bench.cases() if case.variant == "native"]
    return {case.id: case.id.replace("/native/", "/py_function_numpy/") for case in cases}


def many_groups(ratio: float, **settings: object) -> Bench:
    """Thousands of groups with one ratio of native to the baseline, each a simulation of its own."""
    curves = {"py_function_numpy": 1e-5, "native": 1e-5 * ratio}
    return Bench(curves, sizes=SIZES, **settings)  # type: ignore[arg-type]


def covered(estimates: list[Estimate], truth: float) -> float:
    ends = np.array([estimate.interval() for estimate in estimates])
    return float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))


def centre_of_medians(noise: Noise, bench: Bench) -> float:
    """The log that the median over rounds is off by on average, from draws of its own."""
    draws = noise(np.random.default_rng(99), (400_000, bench.rounds))
    return float(np.mean(bench.within * np.median(draws, axis=1)))


@pytest.mark.nightly
@pytest.mark.parametrize("noise", [normal, heavy, spikes])
@pytest.mark.parametrize("launches", [3, 8])
def test_the_interval_of_a_latency_covers_at_its_level(noise: Noise, launches: int) -> None:
    """Nine rounds: with five, spikes in a tenth of the blocks take the median of one launch in a hundred with them."""
    bench = many_groups(1.0, launches=launches, rounds=9, within=0.01, between=0.01, noise=noise, seed=launches)
    frame = bench.frame()
    found = statistics.estimates(statistics.launch_logs(frame[frame["variant"] == "native"]))
    truth = math.log(1e-5) + centre_of_medians(noise, bench)
    assert covered(list(found.values()), truth) == pytest.approx(0.95, abs=COVERAGE_ERROR)


@pytest.mark.nightly
@pytest.mark.parametrize("noise", [normal, heavy, spikes])
@pytest.mark.parametrize("launches", [3, 8])
def test_the_interval_of_a_paired_ratio_covers_at_its_level(noise: Noise, launches: int) -> None:
    bench = many_groups(1.2, launches=launches, rounds=5, within=0.01, between=0.01, drift=0.05, noise=noise, seed=7)
    found = statistics.estimates(statistics.paired_logs(bench.frame(), pairs(bench)))
    assert covered(list(found.values()), math.log(1.2)) == pytest.approx(0.95, abs=COVERAGE_ERROR)


@pytest.mark.parametrize("between_runs", [0.0, 0.02, 0.05])
@pytest.mark.parametrize("launches", [2, 3, 5, 8])
def test_the_interval_of_one_more_launch_covers_it_at_its_level(launches: int, between_runs: float) -> None:
    rng, trials, inside, by_mean = np.random.default_rng(launches), 500, 0, 0
    for _ in range(trials):
        found = Estimate.of(rng.normal(0, 0.03, launches))
        made = rng.normal(0, between_runs) + rng.normal(0, 0.03)
        low, high = found.next_interval(between_runs)
        inside += low <= made <= high
        by_mean += found.interval()[0] <= made <= found.interval()[1]
    assert inside / trials >= 0.93
    assert by_mean < inside  # the interval of the mean would be too narrow


def test_an_interval_over_pooled_samples_would_not_cover() -> None:
    """The reason for rule 2, and proof that the tests of coverage can fail."""
    bench = many_groups(1.0, launches=4, rounds=8, within=0.01, between=0.01)
    frame = bench.frame()
    native = frame[frame["variant"] == "native"]
    logs = native.assign(value=np.log(native["seconds"] / native["calls"]))
    pooled = list(statistics.estimates(logs).values())
    assert covered(pooled, math.log(1e-5)) < 0.8


@pytest.mark.parametrize("true_ratio", [1.0, 1.03])
def test_corrected_verdicts_on_code_within_the_minimum_effect_are_rarely_faster_or_slower(true_ratio: float) -> None:
    """Runs of eight verdicts: in at most 5% of runs any of them is called faster or slower, pairing and all."""
    bench = many_groups(true_ratio, launches=5, rounds=4, within=0.02, between=0.02, noise=heavy, seed=3)
    found = list(statistics.estimates(statistics.paired_logs(bench.frame(), pairs(bench))).values())
    runs = [found[start : start + 8] for start in range(0, GROUPS, 8)]
    alarms = [
        any(p <= 0.05 and abs(one.mean) > DELTA for one, p in zip(run, adjusted(run, DELTA), strict=True))
        for run in runs
    ]
    assert np.mean(alarms) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / len(runs))


def test_without_a_minimum_effect_the_family_error_is_used_up() -> None:
    """Equal code and delta 0 is the worst case: about 5% of runs alarm with the correction, many more without."""
    bench = many_groups(1.0, launches=5, rounds=4, within=0.02, between=0.02, seed=4)
    found = list(statistics.estimates(statistics.paired_logs(bench.frame(), pairs(bench))).values())
    runs = [found[start : start + 8] for start in range(0, GROUPS, 8)]
    corrected = np.mean([min(adjusted(run, 0.0)) <= 0.05 for run in runs])
    alone = np.mean([min(one.effect_p(0.0) for one in run) <= 0.05 for run in runs])
    assert corrected == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / len(runs)))
    assert alone == pytest.approx(1 - 0.95**8, abs=3.5 * math.sqrt(0.34 * 0.66 / len(runs)))


def adjusted(run: list[Estimate], delta: float) -> list[float]:
    return holm([one.effect_p(delta) for one in run])


def test_a_slowdown_of_a_tenth_is_found_with_one_percent_noise_and_ten_launches() -> None:
    bench = many_groups(1.1, launches=10, rounds=5, within=0.01, between=0.01, seed=5)
    found = statistics.estimates(statistics.paired_logs(bench.frame(), pairs(bench)))
    called = [one.mean > DELTA and 8 * one.effect_p(DELTA) <= 0.05 for one in found.values()]
    assert np.mean(called) > 0.999


def test_pairing_removes_drift_that_a_round_has_in_common() -> None:
    """Drift of 30% per round leaves the ratio exactly as it is without drift, to the last rounding."""
    calm = Bench({"py_function_numpy": 1e-5, "native": 2e-5}, within=0.0, between=0.0)
    stormy = Bench({"py_function_numpy": 1e-5, "native": 2e-5}, within=0.0, between=0.0, drift=0.3)
    spread = [statistics.launch_logs(bench.frame()).groupby("case")["value"].std().min() for bench in (calm, stormy)]
    assert spread[0] < 1e-12
    assert spread[1] > 0.02
    found = statistics.paired_logs(stormy.frame(), pairs(stormy))["value"]
    np.testing.assert_allclose(found, math.log(2), atol=1e-12)


def test_pairing_goes_by_round_not_by_place_in_the_frame() -> None:
    """By hand: only rounds 1 and 2 are common, with the ratios 2 and 8; their median is 5."""
    old, new = (Case("sinh", name, "none", "forward", "call", "float32", 10).id for name in ("py_func", "native"))
    blocks = [(old, 0, 5.0), (old, 1, 1.0), (old, 2, 1.0), (new, 3, 100.0), (new, 2, 8.0), (new, 1, 2.0)]
    frame = pd.DataFrame(blocks, columns=["case", "round", "seconds"]).assign(tool="x", run="r", launch=0, calls=1)
    found = statistics.paired_logs(frame.assign(mode="call", copies=1, floor_seconds=math.nan), {new: old})
    assert found["value"].tolist() == pytest.approx([math.log(5)])


def test_launches_of_other_runs_and_tools_are_not_paired_with_each_other() -> None:
    first = Bench({"py_function_numpy": 1e-5, "native": 2e-5}, sizes=(10,), within=0, between=0, launches=3).frame()
    other = first.assign(run="other", seconds=first["seconds"] * 100)
    asv = first.assign(tool="asv", seconds=first["seconds"] * 7)[first["variant"] == "native"]
    bench = Bench({"py_function_numpy": 1.0, "native": 1.0}, sizes=(10,))
    found = statistics.paired_logs(pd.concat([first, other, asv]), pairs(bench))
    assert len(found) == 6
    np.testing.assert_allclose(found["value"], math.log(2))


def test_a_launch_is_the_median_over_rounds_of_seconds_per_call() -> None:
    frame = pd.DataFrame({"seconds": [10.0, 3.0, 8.0], "calls": [10, 1, 4], "round": [0, 1, 2]})
    frame = frame.assign(case="a", tool="x", run="r", launch=0, mode="call", copies=1, floor_seconds=math.nan)
    assert statistics.launch_logs(frame)["value"].tolist() == pytest.approx([math.log(2.0)])


def test_shuffled_rows_give_the_same_numbers_to_the_last_bit() -> None:
    bench = Bench({"py_function_numpy": 1e-5, "native": 2e-5}, launches=7, rounds=6)
    frame = bench.frame()
    shuffled = frame.sample(frac=1, random_state=1).reset_index(drop=True)
    assert statistics.estimates(statistics.launch_logs(shuffled)) == statistics.estimates(statistics.launch_logs(frame))
    paired, shuffled_paired = (statistics.paired_logs(one, pairs(bench)) for one in (frame, shuffled))
    assert statistics.estimates(shuffled_paired) == statistics.estimates(paired)


VALUES = [0.11, 0.07, 0.13, 0.10, 0.02]
MORE_VALUES = [*VALUES, 0.09, 0.12, 0.08, 0.95, 0.10, 0.06, 0.11, -0.30]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_the_interval_of_few_launches_is_scipys(level: float) -> None:
    expected = scipy_stats.t.interval(level, 4, loc=np.mean(VALUES), scale=scipy_stats.sem(VALUES))
    assert Estimate.of(VALUES).interval(level) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n", "out"), [(6, 1), (11, 1), (13, 2)])
def test_the_trimmed_mean_and_its_winsorized_variance_are_scipys(n: int, out: int) -> None:
    values = MORE_VALUES[:n]
    estimate = Estimate.of(values)
    winsorized = np.var(np.asarray(scipy_stats.mstats.winsorize(np.array(values), (out / n, out / n))), ddof=1)
    kept = n - 2 * out
    assert estimate.trimmed == out
    assert estimate.mean == pytest.approx(scipy_stats.trim_mean(values, out / n + 1e-9))
    assert estimate.standard_error**2 == pytest.approx((n - 1) * winsorized / (kept * (kept - 1)))
    assert estimate.deviation == pytest.approx(estimate.standard_error * math.sqrt(n))


@pytest.mark.parametrize(("n", "out"), [(6, 1), (13, 2)])
def test_the_standard_error_is_that_of_scipys_test_by_yuen(n: int, out: int) -> None:
    """Of two equal groups the test's statistic is the difference over the root of twice the squared error of one."""
    values = np.array(MORE_VALUES[:n])
    estimate = Estimate.of(values)
    test = scipy_stats.ttest_ind(values + 1.0, values, equal_var=False, trim=out / n + 1e-9)
    assert 1.0 / (math.sqrt(2) * estimate.standard_error) == pytest.approx(test.statistic)


def test_a_launch_that_went_wrong_moves_the_estimate_no_further_than_its_neighbour() -> None:
    """However far it goes: an hour's difference is no more than being the largest."""
    good = [0.10, 0.11, 0.09, 0.12, 0.08, 0.10, 0.11]
    assert Estimate.of([*good, 0.3]) == Estimate.of([*good, 8.0])
    assert Estimate.of([*good, 8.0]).effect_p(DELTA) < 0.001
    assert Estimate.of([*good[:4], 8.0]).effect_p(DELTA) > 0.1


@pytest.mark.nightly
@pytest.mark.parametrize(("n", "degrees"), [(2, 1.0), (5, 4.0), (6, 2.4), (8, 4.4), (12, 5.8), (24, 12.6)])
def test_trimming_costs_the_degrees_that_winsorized_variances_vary_by(n: int, degrees: float) -> None:
    """A variance with d degrees of freedom has the squared coefficient of variation 2 / d."""
    assert Estimate(0.0, 1.0, n).own_degrees == pytest.approx(degrees)
    draws = np.random.default_rng(n).standard_normal((20_000, n))
    squared = np.array([Estimate.of(row).deviation ** 2 for row in draws])
    assert 2 * squared.mean() ** 2 / squared.var() == pytest.approx(degrees, rel=0.08)
    assert squared.mean() == pytest.approx(n * np.var([Estimate.of(row).mean for row in draws]), rel=0.05)


@pytest.mark.parametrize(("n", "degrees"), [(5, 4.0), (6, 5.0), (8, 7.0), (9, 5.4), (12, 5.8)])
def test_alone_the_launches_are_trimmed_from_nine_on(n: int, degrees: float) -> None:
    """Below, mean and interval are those of Student's test; above, as of any other estimate."""
    values = MORE_VALUES[:n]
    estimate = Estimate.of(values).alone()
    assert estimate.own_degrees == pytest.approx(degrees)
    if n < statistics.TRIMMED_ALONE:
        expected = scipy_stats.t.interval(statistics.LEVEL, n - 1, loc=np.mean(values), scale=scipy_stats.sem(values))
        assert estimate.interval() == pytest.approx(expected, rel=1e-12)
    else:
        assert estimate.interval() == Estimate.of(values).interval()


def test_more_launches_alone_find_smaller_slowdowns() -> None:
    """In nine of ten draws, at a level of many verdicts; six that are trimmed would need twice what five do."""
    level, draws = 1 - 0.0025, np.random.default_rng(9).standard_normal((4000, 8))

    def found(estimates: list[Estimate]) -> float:
        """Return the slowdown, in deviations between launches, whose interval leaves 0 behind in nine of ten."""
        return float(np.quantile([-one.interval(level)[0] for one in estimates], 0.9))

    alone = [found([Estimate.of(row[:n]).alone() for row in draws]) for n in (4, 5, 6, 7, 8)]
    assert alone == sorted(alone, reverse=True)
    assert found([Estimate.of(row[:6]) for row in draws]) > 2 * alone[2]


def test_what_is_usual_where_it_is_known_keeps_the_launches_trimmed() -> None:
    estimate = Estimate.of(MORE_VALUES[:6])
    known = estimate.with_usual(statistics.Spread(3.0, 0.02**2))
    assert (known.trimmed, known.mean) == (1, estimate.mean)
    assert estimate.with_usual(statistics.UNKNOWN) == estimate.alone()
    assert estimate.alone().trimmed == 0
    vague = statistics.Spread(2.0, 0.02**2)  # worth less than trimming costs
    assert estimate.with_usual(vague) == replace(estimate.alone(), usual=vague)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_is_not_trimmed_away(bad: float) -> None:
    for values in ([*VALUES, *VALUES, bad], [*VALUES, 0.1, bad]):
        for estimate in (Estimate.of(values), Estimate.of(values).alone()):
            assert math.isnan(estimate.mean)
            assert not estimate.effect_p(DELTA) <= 1


def test_the_p_for_no_minimum_effect_is_scipys_paired_t_test() -> None:
    first = np.array([1.0, 1.2, 0.9, 1.1, 1.4])
    second = np.array([0.8, 1.3, 0.7, 0.9, 1.2])
    expected = scipy_stats.ttest_rel(first, second).pvalue
    assert Estimate.of(first - second).effect_p(0.0) == pytest.approx(expected, rel=1e-10)


@given(
    mean=st.floats(-0.3, 0.3),
    deviation=st.floats(1e-4, 0.2),
    n=st.integers(2, 30),
    delta=st.floats(0.0, 0.1),
)
def test_p_is_the_level_at_which_the_interval_leaves_the_border(
    mean: float, deviation: float, n: int, delta: float
) -> None:
    """Just above p the interval excludes [-delta, delta] or lies inside it; just below it does neither."""
    estimate = Estimate(mean, deviation, n)
    p = estimate.effect_p(delta)
    if not 1e-6 < p < 0.999:
        return

    def decided(a: float) -> bool:
        low, high = estimate.interval(1 - a)
        return low > delta or high < -delta or (-delta < low and high < delta)

    assert decided(p * (1 + 1e-5))
    assert not decided(p * (1 - 1e-5))


def test_launches_without_spread_are_certain() -> None:
    assert Estimate(0.1, 0.0, 3).effect_p(0.03) == 0.0
    assert Estimate(0.03, 0.0, 3).effect_p(0.03) == 1.0


@pytest.mark.parametrize("values", [[], [0.4]])
def test_fewer_than_two_launches_have_no_interval(values: list[float]) -> None:
    estimate = Estimate.of(values)
    assert all(math.isnan(end) for end in estimate.interval())
    assert estimate.effect_p(0.03) == 1.0
    assert estimate.launches_to_clear(0.0, 0.95) is None


def test_the_launches_that_would_clear_a_border_do_and_one_less_does_not() -> None:
    estimate = Estimate(0.05, 0.04, 4)
    enough = estimate.launches_to_clear(0.03, 0.99)
    assert enough is not None
    assert Estimate(0.05, 0.04, enough).interval(0.99)[0] > 0.03
    assert Estimate(0.05, 0.04, enough - 1).interval(0.99)[0] <= 0.03
    assert estimate.remedy(0.03, 0.99) == MoreLaunches(4, enough, statistics.MOST_LAUNCHES)
    assert Estimate(0.03, 0.04, 4).remedy(0.03, 0.99) == MoreLaunches(4, None, statistics.MOST_LAUNCHES)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 8, 11, 40])
@pytest.mark.parametrize("shared", [0.0, 1e-4])
@pytest.mark.parametrize("usual", [statistics.Spread(3.0, 0.02**2), statistics.UNKNOWN])
def test_launches_are_searched_for_by_the_quantile_of_each_number_of_them(
    n: int, shared: float, usual: statistics.Spread
) -> None:
    """Bounds of the quantile settle most numbers; the answer is that of a search which asks for all of them."""
    for distance in np.geomspace(1e-3, 1.0, 30):
        estimate = Estimate(float(distance), 0.03, n, shared=shared).with_usual(usual)
        more = estimate.spread_degrees - estimate.own_degrees
        halves = [
            special.stdtrit(statistics.own_degrees(many, alone=estimate.is_alone) + more, 0.995)
            * math.sqrt(estimate.moderated**2 / many + shared)
            for many in range(n, statistics.MOST_LAUNCHES + 1)
        ]
        place = bisect_left(halves, 1, key=lambda half: half < distance)
        assert estimate.launches_to_clear(0.0, 0.99) == (n + place if place < len(halves) else None)


def test_an_end_beyond_float64_is_infinite_and_nothing_stays_nothing() -> None:
    far = statistics.Estimate.of([0.0, 1.0])
    low, high = (statistics.exp(end) for end in far.interval(1 - 1e-6))
    assert (low, high) == (0.0, math.inf)
    assert statistics.exp(700.0) == math.exp(700.0)
    assert math.isnan(statistics.exp(math.nan))


def test_blocks_that_took_no_longer_than_the_clock_are_left_out() -> None:
    bench = Bench({"py_function_numpy": 1e-5, "native": 1e-6}, sizes=(10,))
    frame = bench.frame()
    zero = frame.assign(seconds=frame["seconds"].where(frame["round"] > 0, 0.0))
    kept = frame[frame["round"] > 0]
    assert statistics.launch_logs(zero).equals(statistics.launch_logs(kept))
    assert statistics.paired_logs(zero, pairs(bench)).equals(statistics.paired_logs(kept, pairs(bench)))


def test_luck_may_have_been_bad_and_needs_fewer_launches_then() -> None:
    """A mean on the border is given up only when two standard errors are not enough to leave it."""
    on_border = statistics.Estimate(math.log(1.03), 0.01, 4)
    assert on_border.launches_to_clear(math.log(1.03), 0.999) is None
    fewest = on_border.fewest_launches(math.log(1.03), 0.999)
    assert fewest == statistics.Estimate(math.log(1.03) + 0.01, 0.01, 4).launches_to_clear(math.log(1.03), 0.999)
    assert statistics.Estimate(math.log(1.03), 0.01, 100).fewest_launches(math.log(1.03), 0.999) > 100


def test_a_spread_above_what_is_usual_may_be_bad_luck() -> None:
    usual = statistics.Spread(8.0, 0.01**2)
    wild, calm = (statistics.Estimate(0.1, deviation, 4, usual) for deviation in (0.03, 0.01))
    found = wild.fewest_launches(0.03, 0.9999)
    assert found is not None
    assert found < wild.launches_to_clear(0.03, 0.9999)
    assert statistics.Estimate(0.1, 0.0, 0).fewest_launches(0.03, 0.95) is None
    assert statistics.Estimate(0.1, math.nan, 1).fewest_launches(0.03, 0.95) == 2
    assert calm.fewest_launches(0.03, 0.9999) <= found


# What was predicted of the spread, and what all launches have in common
def test_a_predicted_variance_is_the_unit_of_what_is_usual() -> None:
    """By hand: 3 degrees of its own at 1e-4, 6 of what is usual at twice the predicted 1e-4."""
    found = statistics.Estimate(0.0, 0.01, 4, statistics.Spread(6.0, 2.0), scale=1e-4)
    assert found.spread_degrees == pytest.approx(9.0)
    assert found.moderated**2 == pytest.approx((3 * 1e-4 + 6 * 2e-4) / 9)
    same = statistics.Estimate(0.0, 1.0, 4, statistics.Spread(6.0, 2.0))
    assert found.moderated == pytest.approx(same.moderated * 0.01)


def test_a_shared_variance_is_added_after_the_launches() -> None:
    """By hand: 0.03 / sqrt(9) and 0.02 make sqrt(1e-4 + 4e-4); Satterthwaite: 9 launches, two trimmed, 5.4 degrees."""
    found = statistics.Estimate(0.0, 0.03, 9, shared=4e-4)
    assert found.standard_error == pytest.approx(math.sqrt(5e-4))
    assert found.degrees == pytest.approx(found.own_degrees * 25)
    alone = statistics.Estimate(0.0, 0.03, 9)
    assert (alone.standard_error, alone.degrees) == (pytest.approx(0.01), alone.own_degrees)


def test_no_number_of_launches_clears_what_all_of_them_share() -> None:
    border, shared = 0.05, 0.03**2
    assert statistics.Estimate(0.0, 0.01, 4, shared=shared).launches_to_clear(border, 0.95) is None
    assert statistics.Estimate(0.0, 0.01, 4).launches_to_clear(border, 0.95) is not None


def test_without_any_spread_only_what_is_shared_is_left() -> None:
    found = statistics.Estimate(0.1, 0.0, 3, shared=1e-4)
    assert (found.standard_error, found.degrees) == (pytest.approx(0.01), math.inf)
    assert found.interval()[0] == pytest.approx(0.1 - 1.959964 * 0.01, rel=1e-6)


# what is too noisy to be shown
def too_noisy(values: npt.NDArray[np.float64], today: float = 0.0) -> float:
    """Return the share of rows of launches whose estimate is too noisy."""
    return float(np.mean([Estimate.of(row).is_too_noisy(today) for row in values]))


@pytest.mark.parametrize("launches", [2, 3, 5, 12])
def test_costs_that_launches_agree_on_are_shown_and_those_that_are_noise_are_not(launches: int) -> None:
    """Launches that differ by a third are told in 95 of 100 cases; of noise around nothing 85 of 100 are caught."""
    rng = np.random.default_rng(launches)
    shape = (2000, launches)
    assert too_noisy(100 * np.exp(rng.standard_normal(shape) / 3)) < 0.05
    assert too_noisy(100 * np.exp(rng.standard_normal(shape) / 10)) == 0
    noise = too_noisy(1000 * rng.standard_normal(shape))
    assert noise > 0.84, "1 - P(t > 2) with one degree of freedom is 0.852"


def test_a_cost_of_next_to_nothing_is_told_beside_a_callback_that_costs_far_more() -> None:
    """0.2 us give or take 2 us is little beside 100 us, and noise beside 3 us or where nothing is known."""
    cost = Estimate.of([-1.8e-6, 2.2e-6])
    assert not cost.is_too_noisy(today=1e-4)
    assert cost.is_too_noisy(today=3e-6)
    assert cost.is_too_noisy()


def test_what_is_clearly_above_nothing_is_told_and_what_is_clearly_below_is_noise() -> None:
    assert not Estimate.of([1.0, 1.1]).is_too_noisy()
    assert Estimate.of([-1.0, -1.001, -0.999]).is_too_noisy()
    assert not Estimate.of([-1.0, -1.001, -0.999]).is_too_noisy(today=100.0)


def test_one_launch_is_too_noisy_where_its_cost_is_impossible() -> None:
    assert Estimate.of([-1e-6]).is_too_noisy()
    assert not Estimate.of([-1e-6]).is_too_noisy(today=1e-4)
    assert not Estimate.of([1e-6]).is_too_noisy()


@pytest.mark.parametrize("many", [2, 3, 5, 8])
def test_they_are_those_of_the_standard_library_in_any_order(many: int) -> None:
    values = np.random.default_rng(many).normal(1e-4, 1e-5, many).tolist()
    found = mean_and_deviation(values)
    assert found == pytest.approx((fmean(values), stdev(values)))
    assert mean_and_deviation(values[::-1]) == found


def test_one_value_has_no_deviation_and_none_has_nothing() -> None:
    mean, deviation = mean_and_deviation([2.0])
    assert mean == 2.0
    assert math.isnan(deviation)
    assert all(map(math.isnan, mean_and_deviation([])))


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_makes_nothing_of_all(odd: float) -> None:
    assert all(map(math.isnan, mean_and_deviation([1.0, odd, 2.0])))

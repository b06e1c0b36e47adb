"""Intervals cover, corrected verdicts stay quiet on equal code, and pairing removes what is common."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from frames import Bench, Noise, heavy, normal, spikes
from pyopbench.model.case import Case
from pyopbench.stats import estimate as statistics
from pyopbench.stats.costs import round_costs
from pyopbench.stats.estimate import (
    FEWEST_CASES,
    OWN,
    PRIOR_DEGREES,
    UNIT,
    USUAL_SPREAD,
    Estimate,
    Launches,
    Spread,
    holm,
    launches_by_case,
    moderated,
    usual_spread,
)

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


def launch_logs(frame: pd.DataFrame) -> pd.DataFrame:
    return statistics.launch_logs(round_costs(frame, UNIT))


def paired_logs(frame: pd.DataFrame, baselines: dict[str, str]) -> pd.DataFrame:
    return statistics.ratio_logs(round_costs(frame, UNIT), baselines, UNIT)


def estimates(numbers: pd.DataFrame) -> dict[str, Estimate]:
    """Estimate each case from its launches alone."""
    return {case: Estimate.of(one.values) for case, one in launches_by_case(numbers).items()}


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
    found = estimates(launch_logs(frame[frame["variant"] == "native"]))
    truth = math.log(1e-5) + centre_of_medians(noise, bench)
    assert covered(list(found.values()), truth) == pytest.approx(0.95, abs=COVERAGE_ERROR)


@pytest.mark.nightly
@pytest.mark.parametrize("noise", [normal, heavy, spikes])
@pytest.mark.parametrize("launches", [3, 8])
def test_the_interval_of_a_paired_ratio_covers_at_its_level(noise: Noise, launches: int) -> None:
    bench = many_groups(1.2, launches=launches, rounds=5, within=0.01, between=0.01, drift=0.05, noise=noise, seed=7)
    found = estimates(paired_logs(bench.frame(), pairs(bench)))
    assert covered(list(found.values()), math.log(1.2)) == pytest.approx(0.95, abs=COVERAGE_ERROR)


def test_an_interval_over_pooled_samples_would_not_cover() -> None:
    """The reason for rule 2, and proof that the tests of coverage can fail."""
    bench = many_groups(1.0, launches=4, rounds=8, within=0.01, between=0.01)
    frame = bench.frame()
    native = frame[frame["variant"] == "native"]
    logs = native.assign(value=np.log(native["seconds"] / native["calls"]))
    pooled = list(estimates(logs.assign(error=math.nan)).values())
    assert covered(pooled, math.log(1e-5)) < 0.8


@pytest.mark.parametrize("true_ratio", [1.0, 1.03])
def test_corrected_verdicts_on_code_within_the_minimum_effect_are_rarely_faster_or_slower(true_ratio: float) -> None:
    """Runs of eight verdicts: in at most 5% of runs any of them is called faster or slower, pairing and all."""
    bench = many_groups(true_ratio, launches=5, rounds=4, within=0.02, between=0.02, noise=heavy, seed=3)
    found = list(estimates(paired_logs(bench.frame(), pairs(bench))).values())
    runs = [found[start : start + 8] for start in range(0, GROUPS, 8)]
    alarms = [
        any(p <= 0.05 and abs(one.mean) > DELTA for one, p in zip(run, adjusted(run, DELTA), strict=True))
        for run in runs
    ]
    assert np.mean(alarms) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / len(runs))


def test_without_a_minimum_effect_the_family_error_is_used_up() -> None:
    """Equal code and delta 0 is the worst case: about 5% of runs alarm with the correction, many more without."""
    bench = many_groups(1.0, launches=5, rounds=4, within=0.02, between=0.02, seed=4)
    found = list(estimates(paired_logs(bench.frame(), pairs(bench))).values())
    runs = [found[start : start + 8] for start in range(0, GROUPS, 8)]
    corrected = np.mean([min(adjusted(run, 0.0)) <= 0.05 for run in runs])
    alone = np.mean([min(one.border_p(0.0) for one in run) <= 0.05 for run in runs])
    assert corrected == pytest.approx(0.05, abs=3.5 * math.sqrt(0.05 * 0.95 / len(runs)))
    assert alone == pytest.approx(1 - 0.95**8, abs=3.5 * math.sqrt(0.34 * 0.66 / len(runs)))


def adjusted(run: list[Estimate], delta: float) -> list[float]:
    return holm([one.border_p(delta) for one in run])


def test_a_slowdown_of_a_tenth_is_found_with_one_percent_noise_and_ten_launches() -> None:
    bench = many_groups(1.1, launches=10, rounds=5, within=0.01, between=0.01, seed=5)
    found = estimates(paired_logs(bench.frame(), pairs(bench)))
    called = [one.mean > DELTA and 8 * one.border_p(DELTA) <= 0.05 for one in found.values()]
    assert np.mean(called) > 0.999


def test_pairing_removes_drift_that_a_round_has_in_common() -> None:
    """Drift of 30% per round leaves the ratio exactly as it is without drift, to the last rounding."""
    calm = Bench({"py_function_numpy": 1e-5, "native": 2e-5}, within=0.0, between=0.0)
    stormy = Bench({"py_function_numpy": 1e-5, "native": 2e-5}, within=0.0, between=0.0, drift=0.3)
    spread = [launch_logs(bench.frame()).groupby("case")["value"].std().min() for bench in (calm, stormy)]
    assert spread[0] < 1e-12
    assert spread[1] > 0.02
    found = paired_logs(stormy.frame(), pairs(stormy))["value"]
    np.testing.assert_allclose(found, math.log(2), atol=1e-12)


def test_pairing_goes_by_round_not_by_place_in_the_frame() -> None:
    """By hand: only rounds 1 and 2 are common, with the ratios 2 and 8; their median is 5."""
    old, new = (Case("sinh", name, "none", "forward", "call", "float32", 10).id for name in ("py_func", "native"))
    blocks = [(old, 0, 5.0), (old, 1, 1.0), (old, 2, 1.0), (new, 3, 100.0), (new, 2, 8.0), (new, 1, 2.0)]
    frame = pd.DataFrame(blocks, columns=["case", "round", "seconds"]).assign(tool="x", run="r", launch=0, calls=1)
    found = paired_logs(frame.assign(mode="call", copies=1, floor_seconds=math.nan), {new: old})
    assert found["value"].tolist() == pytest.approx([math.log(5)])


def test_launches_of_other_runs_and_tools_are_not_paired_with_each_other() -> None:
    first = Bench({"py_function_numpy": 1e-5, "native": 2e-5}, sizes=(10,), within=0, between=0, launches=3).frame()
    other = first.assign(run="other", seconds=first["seconds"] * 100)
    asv = first.assign(tool="asv", seconds=first["seconds"] * 7)[first["variant"] == "native"]
    bench = Bench({"py_function_numpy": 1.0, "native": 1.0}, sizes=(10,))
    found = paired_logs(pd.concat([first, other, asv]), pairs(bench))
    assert len(found) == 6
    np.testing.assert_allclose(found["value"], math.log(2))


VALUES = [0.11, 0.07, 0.13, 0.10, 0.02]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_the_interval_of_few_launches_is_scipys(level: float) -> None:
    expected = scipy_stats.t.interval(level, 4, loc=np.mean(VALUES), scale=scipy_stats.sem(VALUES))
    assert Estimate.of(VALUES).interval(level) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_makes_nothing_of_all(bad: float) -> None:
    estimate = Estimate.of([*VALUES, bad])
    assert math.isnan(estimate.mean)
    assert estimate.border_p(DELTA) == 1


@given(mean=st.floats(-0.3, 0.3), spread=st.floats(1e-4, 0.2), n=st.integers(2, 30), delta=st.floats(0.0, 0.1))
def test_p_is_the_error_that_the_noise_needs_to_cross_the_nearer_border(
    mean: float, spread: float, n: int, delta: float
) -> None:
    """By SciPy: one tail beyond the nearer border and one beyond the other; without a minimum effect, both tails."""
    found = Estimate(mean, spread, n, n - 1.0)
    tails = scipy_stats.t(n - 1, scale=spread / math.sqrt(n))
    distance = abs(abs(mean) - delta)
    assert found.border_p(delta) == pytest.approx(min(tails.sf(distance) + tails.sf(distance + 2 * delta), 1), abs=1e-9)


def test_launches_without_spread_are_certain() -> None:
    assert Estimate(0.1, 0.0, 3, 2.0).border_p(0.03) == 0.0
    assert Estimate(0.03, 0.0, 3, 2.0).border_p(0.03) == 1.0


@pytest.mark.parametrize("values", [[], [0.4]])
def test_fewer_than_two_launches_have_no_interval(values: list[float]) -> None:
    estimate = Estimate.of(values)
    assert all(math.isnan(end) for end in estimate.interval())
    assert estimate.border_p(0.03) == 1.0
    assert estimate.launches_to_clear(0.0, 0.95) is None


def test_an_end_beyond_float64_is_infinite_and_nothing_stays_nothing() -> None:
    far = statistics.Estimate.of([0.0, 1.0])
    low, high = (statistics.exp(end) for end in far.interval(1 - 1e-6))
    assert (low, high) == (0.0, math.inf)
    assert statistics.exp(700.0) == math.exp(700.0)
    assert math.isnan(statistics.exp(math.nan))


def test_a_shared_variance_is_added_after_the_launches() -> None:
    """By hand: 0.03 / sqrt(9) and 0.02 make sqrt(1e-4 + 4e-4); Satterthwaite: 8 degrees, of a fifth of the variance."""
    found = Estimate(0.0, 0.03, 9, 8.0, shared=4e-4)
    assert found.standard_error == pytest.approx(math.sqrt(5e-4))
    assert found.degrees == pytest.approx(8 * 25)
    assert Estimate(0.0, 0.03, 9, 8.0, 4e-4, 4.0).degrees == pytest.approx(25 / (1 / 8 + 16 / 4))
    alone = Estimate(0.0, 0.03, 9, 8.0)
    assert (alone.standard_error, alone.degrees) == (pytest.approx(0.01), 8.0)


# the usual spread, and launches that count by what their turns are worth
def test_the_spread_of_few_launches_is_moved_towards_what_is_usual() -> None:
    """By hand: 4 degrees at 5% and 2 at the deviation of three launches."""
    values = np.array([0.1, 0.2, 0.15])
    found = Spread(0.05**2).estimate(Launches(values))
    assert found.mean == pytest.approx(0.15)
    assert found.spread_degrees == PRIOR_DEGREES + 2
    assert found.spread**2 == pytest.approx((4 * 0.0025 + 2 * 0.0025) / 6)
    assert OWN.estimate(Launches(values)) == Estimate.of(values)


def test_launches_are_weighted_by_what_their_turns_are_worth() -> None:
    """By hand: variances of 1 + 0 and 1 + 3, so that the first counts four times as much."""
    found = Spread(1.0).estimate(Launches(np.array([0.0, 1.0]), np.array([0.0, math.sqrt(3)])))
    assert found.mean == pytest.approx(0.2)
    factor = (4 + 0.2**2 / 1 + 0.8**2 / 4) / 5
    assert found.standard_error**2 == pytest.approx(factor / (1 + 1 / 4))


def test_a_share_varies_in_proportion_to_itself() -> None:
    """What is usual is a variance of a share of 1; that of a share of a tenth is a hundredth of it."""
    found = Spread(0.01).estimate(Launches(np.full(3, 0.1), leverage=0.1**2))
    assert found.spread**2 == pytest.approx(4 / 6 * 0.01 * 0.1**2)


def test_few_cases_differ_by_at_least_the_usual() -> None:
    few = [Launches(np.array([0.0, 0.01]))] * (FEWEST_CASES - 1)
    assert usual_spread(few).variance == usual_spread([]).variance == USUAL_SPREAD**2
    noisy = usual_spread([Launches(np.array([-0.1, 0.1])), Launches(np.array([0.0, 0.0]))])
    assert noisy.variance == pytest.approx(0.01)


def test_a_single_launch_has_no_spread() -> None:
    (one, none) = moderated([Launches(np.array([0.3])), Launches(np.array([]))])
    assert (one.mean, one.n, one.known, none.n, none.known) == (0.3, 1, False, 0, False)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holms_steps_are_those_of_their_definition(p: list[float]) -> None:
    """Against the definition: rejected at a are the smallest, as long as each is at most a / (those that are left)."""
    adjusted = holm(p)
    for error in (0.01, 0.05, 0.5):
        left = len(p)
        rejected = set()
        for place in sorted(range(len(p)), key=lambda place: p[place]):
            if p[place] * left > error:
                break
            rejected.add(place)
            left -= 1
        assert {place for place, one in enumerate(adjusted) if one <= error} == rejected


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


def test_one_launch_is_too_noisy_where_its_cost_is_impossible() -> None:
    assert Estimate.of([-1e-6]).is_too_noisy()
    assert not Estimate.of([-1e-6]).is_too_noisy(today=1e-4)
    assert not Estimate.of([1e-6]).is_too_noisy()


# against plain definitions
@pytest.mark.parametrize(("cases", "launches"), [(5, 5), (6, 2), (6, 3), (9, 2), (10, 2), (7, 6)])
def test_six_cases_of_ten_degrees_in_all_show_by_their_median_what_fewer_show_by_their_sum(
    cases: int, launches: int
) -> None:
    """With SciPy: a variance of few launches over what half of all such variances are below."""
    rng = np.random.default_rng(cases)
    values, errors = 0.3 * rng.standard_normal((cases, launches)), rng.uniform(0.01, 0.2, (cases, launches))
    shares = rng.uniform(0.2, 2.0, cases)
    found = usual_spread(map(Launches, values, errors, shares))
    degrees, variances, within = launches - 1, values.var(axis=1, ddof=1), (errors**2).mean(axis=1)
    halves = scipy_stats.chi2(degrees).median() / degrees
    is_many = cases >= 6 and cases * degrees >= 10
    usual = np.median((variances / halves - within) / shares) if is_many else np.sum(variances - within) / shares.sum()
    assert (found.variance, found.degrees) == (pytest.approx(max(usual, 0.0)), 4.0)


def test_what_has_one_launch_or_no_share_shows_no_spread_and_more_launches_count_more() -> None:
    """By hand: variances of 0.08 with one degree and of 0.02 with two."""
    some = [Launches(np.array(values)) for values in ([0.0, 0.4], [0.1, 0.1 + 0.02**0.5, 0.1 - 0.02**0.5], [7.0])]
    assert usual_spread([*some, Launches(np.array([0.0, 9.0]), leverage=0.0)]).variance == pytest.approx(0.04)


@pytest.mark.parametrize("many", [1, 2, 20])
def test_all_of_many_means_stay_below_their_reach_at_95_percent(many: int) -> None:
    found = Estimate(0.3, 0.04, 4, 3.0)
    assert scipy_stats.t(3, scale=0.02).cdf(found.upper_reach(many)) ** many == pytest.approx(0.95)
    assert Estimate.of([0.1]).upper_reach(many) == math.inf


def test_a_shared_variance_alone_has_its_own_degrees() -> None:
    assert Estimate(0.0, 0.0, 3, 2.0, 1e-4, 5.0).degrees == pytest.approx(5.0)
    assert Estimate(0.0, 0.0, 3, 2.0, 1e-4).degrees == math.inf
    assert math.isnan(Estimate.of([0.1]).degrees)
    assert math.isnan(Estimate.of([0.1]).standard_error)


@pytest.mark.parametrize(
    ("mean", "error", "today", "is_noise"),
    [
        (-1.0, 0.0, 2.0, True),  # half of today's cost less than nothing
        (-1.0, 0.0, 2.01, False),
        (0.0, 0.0, 0.0, True),
        (0.0, 0.0, 1.0, False),
        *((1.0, error, 0.0, error > 0.5) for error in (0.49, 0.51)),  # the interval reaches below nothing
        *((1.0, 5.1, today, today < 10.2) for today in (10.0, 10.3)),
    ],
)
def test_a_cost_is_noise_from_half_of_it_or_of_todays_on(
    mean: float, error: float, today: float, *, is_noise: bool
) -> None:
    """At two degrees of freedom the interval is 4.3 errors wide on either side."""
    assert Estimate(mean, error * math.sqrt(3), 3, 2.0).is_too_noisy(today) == is_noise


@pytest.mark.parametrize(("launches", "wide"), [(3, 0.004), (4, 0.03), (4, 0.05), (12, 0.1)])
def test_the_launches_that_clear_a_border_are_the_first_of_all_that_do(launches: int, wide: float) -> None:
    """By SciPy, one number after another; what is clear now needs no more."""
    found = Estimate(-0.05, wide, launches, launches + 3.0)
    for border, off, told in (
        (-0.03, 0.02, found.launches_to_clear(-0.03, 0.98)),
        (-0.06, 0.01, found.launches_to_clear(-0.06, 0.98)),
        (-0.03, 0.02 + 2 * wide / math.sqrt(launches), found.fewest_launches(-0.03, 0.98)),
    ):
        halves = ((n, scipy_stats.t(n + 3).ppf(0.99) * wide / math.sqrt(n)) for n in range(launches, 10_000))
        assert told == next(n for n, half in halves if half < off), border
    assert Estimate(-0.03, wide, launches, 9.0).launches_to_clear(-0.03, 0.98) is None
    assert [Estimate.of(values).fewest_launches(0.03, 0.95) for values in ([], [0.1])] == [None, 2]


def test_more_than_a_thousand_launches_are_none() -> None:
    """With many degrees of freedom: the error that 1.96 of make a distance of one at so many launches."""
    border = [math.sqrt(n) / float(scipy_stats.norm.ppf(0.975)) for n in (999.9, 1000.1)]
    assert [Estimate(1.0, wide, 9, 1e9).launches_to_clear(0.0, 0.95) for wide in border] == [1000, None]

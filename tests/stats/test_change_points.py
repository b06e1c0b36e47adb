"""Changes of a level are found where they were planted, and in series without one as rarely as promised."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal, special

from pyopbench.stats.change_points import (
    ALARM_RATE,
    FEWEST_POINTS,
    LENGTHS,
    THRESHOLDS,
    UNCORRELATED_THRESHOLDS,
    between_runs,
    clipped,
    scale_within,
    segment,
    threshold,
)

POINTS = 100
ERROR, STEP = 0.02, math.log(1.05)

RNG = np.random.default_rng(11)


def normal(rng, shape):
    return rng.standard_normal(shape)


def heavy(rng, shape):
    return rng.standard_t(3, shape) / math.sqrt(3)


def lasting(rng, shape):
    shocks = rng.standard_normal((shape[0], shape[1] + 30)) * math.sqrt(0.75)
    return signal.lfilter([1.0], [1.0, -0.5], shocks)[:, 30:]


def alarms(drawn, series):
    """Return in how many series without a change one is found."""
    rng = np.random.default_rng(7)
    found = 0
    for values in ERROR * drawn(rng, (series, POINTS)):
        found += bool(changes_of(values))
    return found


def changes_of(values):
    """Return the changes in a series of runs without errors of their own."""
    between = between_runs(values, np.zeros(values.size), ERROR)
    return segment(values, np.full(values.size, between or ERROR), between).changes


def most_often(rate, series):
    """Return what a count exceeds in one of 10,000 simulations at a rate, by the binomial distribution."""
    counts = np.arange(series + 1)
    return int(counts[special.bdtr(counts, series, rate) >= 1 - 1e-4][0])


@pytest.mark.nightly
@pytest.mark.parametrize("drawn", [normal, heavy, lasting])
def test_false_alarms_come_no_more_often_than_is_said(drawn):
    assert alarms(drawn, 400) <= most_often(ALARM_RATE, 400)


def test_a_step_of_five_percent_at_an_error_of_two_is_found_within_three_points():
    rng = np.random.default_rng(3)
    near = 0
    for place in rng.integers(20, 81, 200):
        values = ERROR * rng.standard_normal(POINTS) + STEP * (np.arange(POINTS) >= place)
        near += any(abs(one.place - place) <= 3 for one in segment(values, np.full(POINTS, ERROR)).changes)
    assert near >= 180


def test_the_place_is_in_what_is_said_of_it_and_the_step_in_its_interval():
    rng = np.random.default_rng(5)
    held, stepped, found = 0, 0, 0
    for _ in range(300):
        values = ERROR * rng.standard_normal(POINTS) + STEP * (np.arange(POINTS) >= 50)
        for one in segment(values, np.full(POINTS, ERROR)).changes:
            if abs(one.place - 50) <= 10:
                found += 1
                held += one.first <= 50 <= one.last
                stepped += abs(one.step - STEP) <= 1.96 * one.error
    assert found >= 295
    assert held / found >= 0.93
    assert stepped / found >= 0.9


def test_a_change_that_is_taken_back_is_two_changes():
    rng = np.random.default_rng(2)
    values = 0.01 * rng.standard_normal(POINTS)
    values[40:48] += 0.08
    found = segment(values, np.full(POINTS, 0.01)).changes
    assert [one.place for one in found] == [40, 48]
    assert [round(one.step, 1) for one in found] == [0.1, -0.1]


def test_levels_tile_the_series_and_are_its_means():
    values = np.repeat([0.0, 0.3, 0.1], 10)
    found = segment(values, np.full(30, 0.01))
    assert [(one.start, one.stop) for one in found.levels] == [(0, 10), (10, 20), (20, 30)]
    assert [one.mean for one in found.levels] == pytest.approx([0.0, 0.3, 0.1])
    assert [one.error for one in found.levels] == pytest.approx([0.01 / math.sqrt(10)] * 3)


def test_one_point_that_went_wrong_is_no_change():
    rng = np.random.default_rng(4)
    values = 0.01 * rng.standard_normal(40)
    values[20] += 1.0
    assert segment(values, np.full(40, 0.01)).changes == ()


def test_the_last_three_points_may_be_a_level_whose_step_is_told_in_full():
    values = np.repeat([0.0, 0.3], [9, 3]) + 1e-4 * np.arange(12)
    (change,) = segment(values, np.full(12, 0.01)).changes
    assert change.place == 9
    assert change.step == pytest.approx(0.3, rel=0.01)


@pytest.mark.parametrize("n", range(1, FEWEST_POINTS))
def test_a_series_that_is_too_short_has_no_change(n):
    assert segment(np.arange(n) * 10.0, np.full(n, 0.01)).changes == ()


def test_errors_that_do_not_explain_what_neighbours_differ_by_are_taken_for_larger():
    rng = np.random.default_rng(6)
    values = 0.05 * rng.standard_normal(60)
    found = segment(values, np.full(60, 0.005))
    assert found.levels[0].error == pytest.approx(10 * 0.005 / math.sqrt(60), rel=0.3)
    assert found.changes == ()


def two_moods(rng, shape):
    """A machine that is in either of two moods for each run, whatever the code."""
    return 5.0 * (rng.random(shape) < 0.35) + 0.15 * rng.standard_normal(shape)


def walking(rng, shape):
    """A level that drifts with every run."""
    return 0.5 * np.cumsum(rng.standard_normal(shape), axis=1)


@pytest.mark.parametrize(("drawn", "most"), [(two_moods, 0.05), (walking, 0.4)])
def test_a_series_that_drifts_or_jumps_all_the_time_has_few_alarms(drawn, most):
    assert alarms(drawn, 60) <= most * 60


def test_a_step_stands_out_of_a_series_with_bursts_and_outliers():
    rng = np.random.default_rng(9)
    found = 0
    for _ in range(30):
        values = 0.01 * rng.standard_normal(POINTS) + 0.1 * (np.arange(POINTS) >= 60)
        values[rng.integers(0, POINTS, 5)] += 0.5
        found += [abs(one.place - 60) <= 2 for one in changes_of(values)] == [True]
    assert found >= 28


def rising(rng, shape):
    """A level that drifts evenly by fifteen standard deviations."""
    return rng.standard_normal(shape) + np.linspace(0, 15, shape[1])


def test_a_series_that_drifts_evenly_has_no_alarm():
    assert alarms(rising, 60) <= 1


@pytest.mark.parametrize(("between", "places"), [(0.2, [15]), (0.8, [14])])
def test_a_run_between_two_levels_belongs_to_the_nearer_one(between, places):
    values = np.repeat([0.0, between, 1.0], [14, 1, 15])
    assert [one.place for one in changes_of(values)] == places


# against plain definitions
@pytest.mark.parametrize("place", range(8, 29))
def test_a_change_that_is_taken_back_is_sought_in_stretches_that_get_shorter_by_a_root_of_two(place):
    """So many that each overlaps half of the next at least (Kovacs et al., definition 1); of 41 points."""
    stretches = [
        (math.floor(begin), min(math.ceil(begin + 41 / decay), 41))
        for decay in np.sqrt(2) ** np.arange(7)
        for begin in np.linspace(0, 41 - 41 / decay, 2 * math.ceil(decay - 1e-9) - 1)
    ]
    values = 4.0 * ((np.arange(41) >= place) & (np.arange(41) < place + 4))
    largest = max(
        abs(values[start:at].mean() - values[at:stop].mean()) / math.sqrt(1 / (at - start) + 1 / (stop - at))
        for start, stop in stretches
        for at in range(start + 1, stop)
    )
    found = [one.place for one in segment(values, np.ones(41)).changes]
    assert found == ([place, place + 4] if largest > threshold(41) else [])


@pytest.mark.parametrize("thresholds", [THRESHOLDS, UNCORRELATED_THRESHOLDS])
def test_longer_series_need_a_little_more_and_by_most_noise_that_lasts(thresholds):
    """The largest of more statistics, which grows about as the root of a logarithm does."""
    growth = np.diff([threshold(n, thresholds) for n in LENGTHS])
    assert (growth > -0.05).all()
    assert (growth < 0.65).all()
    assert all(np.array(UNCORRELATED_THRESHOLDS) <= THRESHOLDS)
    assert LENGTHS[0] == FEWEST_POINTS
    assert threshold(5_000) == threshold(LENGTHS[-1])
    assert threshold(707, thresholds) == pytest.approx(
        (threshold(500, thresholds) + threshold(1000, thresholds)) / 2, 1e-3
    )


@pytest.mark.parametrize("n", [5, 8, 10, 19, 20, 50, 300])
@pytest.mark.parametrize("reach", [0.99, 1.01])
def test_a_step_is_found_from_the_threshold_of_the_length_on(n, reach):
    """By hand: the means of k and n - k points differ by the step, with an error of e * sqrt(1 / k + 1 / (n - k))."""
    k = max(n // 3, 2)
    step = reach * threshold(n) * 0.01 * math.sqrt(1 / k + 1 / (n - k))
    found = segment(step * (np.arange(n) >= n - k), np.full(n, 0.01))
    assert [one.place for one in found.changes] == ([n - k] if reach > 1 else [])


def by_quantiles(differences):
    """Return the standard deviation of normal noise whose absolute values have the median and the third quartile."""
    return max(np.quantile(differences, share) / special.ndtri((1 + share) / 2) for share in (0.5, 0.75))


@pytest.mark.parametrize("n", [2, 19, 20, 40])
def test_noise_is_what_points_differ_by_over_one_place_and_over_three_from_twenty_on(n):
    values, errors = RNG.standard_t(3, n), RNG.uniform(0.5, 2.0, n)
    lag = 3 if n >= 20 else 1
    told = [abs(values[i + lag] - values[i]) / math.hypot(errors[i], errors[i + lag]) for i in range(n - lag)]
    assert scale_within(values, errors) == pytest.approx(by_quantiles(told))
    shown = scale_within(values, np.ones(n))
    for known in (0.0, shown / 2, shown + 0.1):
        beyond = math.sqrt(max(shown**2 - known**2, 0.0))
        expected = beyond if n >= 20 else max(beyond, 0.7)
        assert between_runs(values, np.full(n, known), 0.7) == pytest.approx(expected)
    assert between_runs(values[:1], np.zeros(1), 0.7) == 0.7


@pytest.mark.parametrize("places", [[10], [1, 5, 10], [1, 5, 10, 19]])
def test_differences_across_a_change_do_not_count_while_ten_others_are_left(places):
    """Of twenty points; seventeen differences over three, of which the changes leave 14, 10 and 9."""
    values = RNG.standard_t(3, 20)
    told = {i: abs(values[i + 3] - values[i]) / math.sqrt(2) for i in range(17)}
    inside = [one for i, one in told.items() if not any(i < place <= i + 3 for place in places)]
    expected = inside if len(inside) >= 10 else list(told.values())
    assert scale_within(values, np.ones(20), places) == pytest.approx(by_quantiles(expected))


@pytest.mark.parametrize("n", [1, 4, 5, 6, 7, 8, 20])
def test_a_point_is_cut_at_three_errors_from_the_median_of_the_seven_around_it(n):
    """Of fewer where there are no seven, an odd number; at an end those of the last seven."""
    values, errors = RNG.standard_t(1, n), RNG.uniform(0.1, 0.5, n)
    window = max(size for size in (1, 3, 5, 7) if size <= n)
    for place, found in enumerate(clipped(values, errors)):
        start = min(max(place - window // 2, 0), n - window)
        middle = sorted(values[start : start + window])[window // 2]
        assert found == pytest.approx(min(max(values[place], middle - 3 * errors[place]), middle + 3 * errors[place]))


@pytest.mark.parametrize(
    ("n", "between", "counted"), [(3, 0.03, 0.05), (19, 0.03, 0.05), (20, 0.03, 0.04), (20, 0.05, 1e-4)]
)
def test_points_that_agree_have_their_errors_and_many_of_them_less_what_runs_were_taken_to_differ_by(
    n, between, counted
):
    (level,) = segment(np.zeros(n), np.full(n, 0.05), between).levels
    assert (level.start, level.stop, level.error) == (0, n, pytest.approx(counted / math.sqrt(n)))


def test_few_points_that_differ_by_more_than_their_errors_have_larger_ones():
    values, errors = np.array([0.0, 0.3, 0.1, 0.5, 0.2, 0.1, 0.4, 0.0]), np.full(8, 0.01)
    (level,) = segment(values, errors).levels
    assert level.error == pytest.approx(0.01 * scale_within(values, errors) / math.sqrt(8))


def test_a_level_is_the_mean_by_precision_of_points_that_count_for_three_errors_at_most():
    """By hand: the median is 0.1, and 5.0 counts as 0.1 + 3 * 0.2."""
    (level,) = segment(np.array([0.0, 0.1, 5.0, 0.1]), np.array([0.1, 0.1, 0.2, 0.2])).levels
    weights = np.array([100.0, 100.0, 25.0, 25.0])
    assert level.mean == pytest.approx(weights @ [0.0, 0.1, 0.7, 0.1] / 250)
    assert level.error == pytest.approx(math.sqrt(1 / 250))


@pytest.mark.parametrize("seed", range(3))
def test_where_a_change_lies_is_what_is_left_of_its_places_at_95_percent(seed):
    """Each place is as likely as its statistic says, tempered by as much as noise that lasts makes that too large."""
    n, error = 30, 0.1
    values = 0.05 * np.random.default_rng(seed).standard_normal(n) + 0.25 * (np.arange(n) >= 12)
    found = segment(values, np.full(n, error))
    (change,) = found.changes
    cut = clipped(values, np.full(n, error))
    squares = [(cut[k:].mean() - cut[:k].mean()) ** 2 / (1 / k + 1 / (n - k)) / error**2 for k in range(1, n)]
    likely = np.exp(np.array(squares) / 2 * (threshold(n, UNCORRELATED_THRESHOLDS) / threshold(n)) ** 2)
    kept, total = [], 0.0
    for place in sorted(range(1, n), key=lambda place: -likely[place - 1]):
        kept, total = [*kept, place], total + likely[place - 1]
        if total >= 0.95 * likely.sum():
            break
    assert (change.first, change.last) == (min(kept), max(kept))
    left, right = found.levels
    assert change.step == pytest.approx(right.mean - left.mean)
    assert change.error == pytest.approx(math.hypot(left.error, right.error))


@pytest.mark.parametrize("seed", [*range(4), 59])
def test_a_step_is_found_where_it_explains_the_points_by_their_precision_as_well_as_a_slope_does(seed):
    """A level that turns into another within about three points; by what weighted lines leave unexplained."""
    errors, at = 0.1 * np.random.default_rng(seed).uniform(0.5, 1.5, 15), np.arange(15)
    values = 0.7 / (1 + np.exp(7.2 - at))
    errors *= max(scale_within(values, errors), 1.0)
    cut = clipped(values, errors)
    step, slope = (
        np.square((cut - np.polyval(np.polyfit(by, cut, 1, w=1 / errors), by)) / errors).sum() for by in (at >= 8, at)
    )
    assert [one.place for one in segment(values, errors).changes] == ([8] if step <= slope else [])


WAVE = 0.05 * np.sin(2 * np.pi * np.arange(120) / 30)


def in_wave(times, stop=120):
    """Return a series that drifts, and has a level in which means differ so many times the usual at its ends at least.

    They are of an eighth of the points, or of as many as the level has.
    """
    width, ends = min(15, stop - 62), [place for place in (62, stop) if place < 120]
    moved = {at: WAVE[at : at + width].mean() - WAVE[at - width : at].mean() for at in range(width, 121 - width)}
    usual = by_quantiles([abs(one) for at, one in moved.items() if all(abs(at - place) >= width for place in ends)])
    step = times * usual + max(-moved[62], moved.get(stop, -1.0))
    return WAVE + step * ((np.arange(120) >= 62) & (np.arange(120) < stop)), usual


@pytest.mark.parametrize("stop", [120, 72, 68, 66])
@pytest.mark.parametrize("times", [3.9, 4.1])
def test_in_a_series_that_drifts_a_step_is_found_from_four_times_the_usual_move_on(times, stop):
    values, _ = in_wave(times, stop)
    found = [one.place for one in segment(values, np.full(120, 0.001)).changes]
    assert found == ([place for place in (62, stop) if place < 120] if times > 4 else [])


@pytest.mark.parametrize(("share", "places"), [(0.98, []), (1.02, [62])])
def test_a_series_drifts_if_means_differ_by_half_more_than_noise_that_lasts_explains(share, places):
    """Noise whose neighbours have a correlation of a half: by the variance of a weighted sum."""
    signs, lags = np.repeat([-1, 1], 15) / 15, np.abs(np.subtract.outer(np.arange(30), np.arange(30)))
    lasting = math.sqrt(signs @ 0.5**lags @ signs)
    values, usual = in_wave(3.5)
    assert [one.place for one in segment(values, np.full(120, share * usual / lasting / 1.5)).changes] == places

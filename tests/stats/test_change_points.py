"""Changes of level: found where they are, and no more often where there are none than is said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import signal, special

from pyopbench.stats import change_points
from pyopbench.stats.change_points import segment
from pyopbench.stats.change_thresholds import ALARM_RATES, FEWEST_POINTS
from pyopbench.stats.noise_scale import between_runs

POINTS = 100
ERROR, STEP = 0.02, math.log(1.05)


def normal(rng, shape):
    return rng.standard_normal(shape)


def heavy(rng, shape):
    return rng.standard_t(3, shape) / math.sqrt(3)


def lasting(rng, shape):
    shocks = rng.standard_normal((shape[0], shape[1] + 30)) * math.sqrt(0.75)
    return signal.lfilter([1.0], [1.0, -0.5], shocks)[:, 30:]


def alarms(drawn, noise, rate, series):
    """Return in how many series without a change one is found."""
    rng = np.random.default_rng(7)
    found = 0
    for values in ERROR * drawn(rng, (series, POINTS)):
        known = ERROR if noise == "independent" else between_runs(values, np.zeros(POINTS), ERROR)
        found += bool(segment(values, np.full(POINTS, known), noise, rate).changes)
    return found


def most_often(rate, series):
    """Return what a count exceeds in one of 10,000 simulations at a rate, by the binomial distribution."""
    counts = np.arange(series + 1)
    return int(counts[special.bdtr(counts, series, rate) >= 1 - 1e-4][0])


@pytest.mark.parametrize(
    ("drawn", "noise"),
    [
        (normal, "independent"),
        (heavy, "independent"),
        (normal, "autocorrelated"),
        (heavy, "autocorrelated"),
        (lasting, "autocorrelated"),
    ],
)
@pytest.mark.parametrize("rate", [0.05, 0.01])
def test_false_alarms_come_no_more_often_than_is_said(drawn, noise, rate):
    assert alarms(drawn, noise, rate, 400) <= most_often(rate, 400)


def test_noise_that_lasts_raises_more_alarms_at_the_threshold_for_noise_that_does_not():
    """So that the test above could fail: the two thresholds are not the same."""
    assert alarms(lasting, "independent", 0.05, 100) > most_often(0.05, 100)


def test_a_step_of_five_percent_at_an_error_of_two_is_found_within_three_points():
    rng = np.random.default_rng(3)
    near = 0
    for place in rng.integers(20, 81, 200):
        values = ERROR * rng.standard_normal(POINTS) + STEP * (np.arange(POINTS) >= place)
        near += any(
            abs(one.place - place) <= 3 for one in segment(values, np.full(POINTS, ERROR), "independent").changes
        )
    assert near >= 180


def test_the_place_is_in_what_is_said_of_it_and_the_step_in_its_interval():
    rng = np.random.default_rng(5)
    held, stepped, found = 0, 0, 0
    for _ in range(300):
        values = ERROR * rng.standard_normal(POINTS) + STEP * (np.arange(POINTS) >= 50)
        for one in segment(values, np.full(POINTS, ERROR), "independent").changes:
            if abs(one.place - 50) <= 10:
                found += 1
                held += one.first <= 50 <= one.last
                stepped += abs(one.step - STEP) <= 1.96 * one.error
    assert found >= 295
    assert held / found >= 0.93
    assert stepped / found >= 0.9


def test_the_largest_statistic_of_the_whole_is_that_of_every_split():
    """Against sums over both sides of each split, written out."""
    rng = np.random.default_rng(1)
    values, errors = rng.standard_normal(9), rng.uniform(0.5, 2.0, 9)
    weights = errors**-2
    expected = []
    for split in range(1, 9):
        left, right = weights[:split], weights[split:]
        means = (left @ values[:split]) / left.sum(), (right @ values[split:]) / right.sum()
        expected.append(abs(means[1] - means[0]) / math.sqrt(1 / left.sum() + 1 / right.sum()))
    series = change_points._Series(values, weights, math.inf)
    assert series.best(0, 9) == pytest.approx((max(expected), 1 + int(np.argmax(expected))))
    assert change_points.largest_statistics(values, errors) >= max(expected)


def test_a_change_that_is_taken_back_is_two_changes():
    rng = np.random.default_rng(2)
    values = 0.01 * rng.standard_normal(POINTS)
    values[40:48] += 0.08
    found = segment(values, np.full(POINTS, 0.01), "independent").changes
    assert [one.place for one in found] == [40, 48]
    assert [round(one.step, 1) for one in found] == [0.1, -0.1]


def test_levels_tile_the_series_and_are_its_means():
    values = np.repeat([0.0, 0.3, 0.1], 10)
    found = segment(values, np.full(30, 0.01), "independent")
    assert [(one.start, one.stop) for one in found.levels] == [(0, 10), (10, 20), (20, 30)]
    assert [one.mean for one in found.levels] == pytest.approx([0.0, 0.3, 0.1])
    assert [one.error for one in found.levels] == pytest.approx([0.01 / math.sqrt(10)] * 3)


def test_one_point_that_went_wrong_is_no_change():
    rng = np.random.default_rng(4)
    values = 0.01 * rng.standard_normal(40)
    values[20] += 1.0
    assert segment(values, np.full(40, 0.01), "independent").changes == ()


def test_the_last_three_points_may_be_a_level_whose_step_is_told_in_full():
    values = np.repeat([0.0, 0.3], [9, 3]) + 1e-4 * np.arange(12)
    (change,) = segment(values, np.full(12, 0.01), "independent").changes
    assert change.place == 9
    assert change.step == pytest.approx(0.3, rel=0.01)


def test_points_count_by_their_errors():
    """A step among points of which nothing is known is none; the same among certain ones is."""
    values = np.repeat([0.0, 0.1], 10)
    values[::2] += 1e-3
    assert segment(values, np.full(20, 0.2), "independent").changes == ()
    assert len(segment(values, np.full(20, 0.02), "independent").changes) == 1


@pytest.mark.parametrize("n", range(1, FEWEST_POINTS))
def test_a_series_that_is_too_short_has_no_change(n):
    found = segment(np.arange(n) * 10.0, np.full(n, 0.01), "independent")
    assert found.changes == ()
    assert math.isinf(found.threshold)


def test_errors_that_do_not_explain_what_neighbours_differ_by_are_taken_for_larger():
    rng = np.random.default_rng(6)
    values = 0.05 * rng.standard_normal(60)
    found = segment(values, np.full(60, 0.005), "independent")
    assert found.excess == pytest.approx(10, rel=0.3)
    assert found.changes == ()


def test_fewer_false_alarms_cost_more():
    values = ERROR * np.random.default_rng(8).standard_normal(POINTS)
    limits = [segment(values, np.full(POINTS, ERROR), "independent", rate).threshold for rate in ALARM_RATES]
    assert limits == sorted(limits)

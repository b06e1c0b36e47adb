"""What a series says of its own noise, whatever its levels are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from pyopbench.stats.noise_scale import MANY_POINTS, between_runs, clipped, excess

RNG = np.random.default_rng(11)


def lasting(n):
    shocks = RNG.standard_normal(n + 30) * np.sqrt(0.75)
    return signal.lfilter([1.0], [1.0, -0.5], shocks)[30:]


@pytest.mark.parametrize("levels", [(0.0, 0.0, 0.0, 0.0), (0.0, 5.0, -3.0, 8.0)])
def test_the_scale_of_the_noise_does_not_hang_on_levels(levels):
    values = 0.3 * RNG.standard_normal(4_000) + np.repeat(levels, 1_000)
    assert excess(values, np.full(4_000, 0.1), "independent") == pytest.approx(3.0, rel=0.05)


def test_noise_that_lasts_is_seen_over_points_further_apart():
    values = lasting(20_000)
    ones = np.ones(values.size)
    assert between_runs(values, 0 * ones, 0.0) == pytest.approx(np.sqrt(1 - 0.5**3), rel=0.05)
    assert excess(values, 0.5 * ones, "independent") == pytest.approx(2 * np.sqrt(0.5), rel=0.05)


def test_errors_that_explain_everything_stay_as_they_are():
    values = RNG.standard_normal(200)
    assert excess(values, np.full(200, 5.0), "independent") == 1.0


def test_what_runs_differ_by_is_beyond_what_their_launches_explain():
    values = 0.05 * RNG.standard_normal(5_000)
    assert between_runs(values, np.full(5_000, 0.03), 0.0) == pytest.approx(0.04, rel=0.08)
    assert between_runs(values, np.full(5_000, 0.2), 0.03) == 0.0


def test_few_runs_are_taken_to_differ_by_what_is_assumed_or_more():
    few = 0.001 * RNG.standard_normal(MANY_POINTS - 1)
    assert between_runs(few, np.zeros(few.size), 0.03) == 0.03
    assert between_runs(1000 * few, np.zeros(few.size), 0.03) > 0.3
    assert between_runs(few[:1], np.zeros(1), 0.03) == 0.03


def test_a_level_of_four_points_is_kept_and_one_point_alone_is_cut():
    values = np.zeros(30)
    values[10:14], values[20] = 5.0, 5.0
    found = clipped(values, np.full(30, 0.1))
    assert found[10:14].tolist() == [5.0] * 4
    assert found[20] == pytest.approx(0.3)
    assert np.delete(found, [*range(10, 14), 20]).tolist() == [0.0] * 25


def test_many_series_at_once_are_each_as_by_itself():
    values, errors = RNG.standard_normal((3, 12)), RNG.uniform(0.5, 2, (3, 12))
    assert clipped(values, errors) == pytest.approx(
        np.array([clipped(one, error) for one, error in zip(values, errors, strict=True)])
    )

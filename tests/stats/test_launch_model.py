"""What launches and runs differ by, found again in drawn numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyopbench.stats.estimate import UNKNOWN, Estimate, Spread
from pyopbench.stats.launch_model import (
    RELATIVE,
    RUN_EFFECT,
    LaunchModel,
    Shares,
    fit,
)

WITHIN = 0.035
"""Standard deviation between launches of one machine, as was measured (docs/statistics.md)."""
TRIALS = 1500
LEAST_COVERAGE = 0.94
MOST_COVERAGE_POOLED = 0.6
BETWEEN = (0.0, 0.01, 0.05)


def simulated(
    many: int, launches: int, relative: float, error: float, seed: int = 0, factor: float = 1.0
) -> list[Shares]:
    """Return variants whose shares lie between 0.5% and twice the current time, with known noise.

    Args:
        many: how many.
        launches: of each.
        relative: standard deviation between launches of the log of a share.
        error: standard error over rounds: twice that for every other variant, and half of it for the rest.
        seed: makes them repeatable.
        factor: the noise of rounds over the error that is told; 1 where that is right.
    """
    rng = np.random.default_rng(seed)
    made = []
    for place, share in enumerate(np.geomspace(0.005, 2.0, many)):
        told = error * (0.5 if place % 2 else 2.0)
        noise = share * relative * rng.standard_normal(launches) + factor * told * rng.standard_normal(launches)
        made.append(Shares(share + noise, np.full(launches, told), share**2))
    return made


def test_the_fit_finds_what_launches_and_rounds_add() -> None:
    """By hand: a variance of (5% of the share)^2 and that of rounds once, respectively four times."""
    for factor in (1.0, 2.0):
        model = fit(simulated(600, 6, 0.05, 0.004, factor=factor))
        assert math.sqrt(model.relative) == pytest.approx(0.05, rel=0.15)
        assert model.rounds == pytest.approx(factor**2, rel=0.15)
        assert model.usual.variance == pytest.approx(1.0, rel=0.15), "what is left is as predicted"


def test_without_noise_of_rounds_only_launches_count() -> None:
    silent = [Shares(one.values, np.zeros(4), one.leverage) for one in simulated(300, 4, 0.05, 0.004, factor=0.0)]
    model = fit(silent)
    assert math.sqrt(model.relative) == pytest.approx(0.05, rel=0.1)


def test_a_cheap_variant_is_judged_by_what_is_usual_for_a_cheap_one() -> None:
    """With one spread for all, 0.5% of the current time would be as uncertain as twice today's."""
    model = fit(simulated(300, 3, 0.05, 0.0005))
    few = np.array([-1.0, 0.0, 1.0])
    cheap = model.estimate(Shares(0.005 + 0.0005 * few, np.full(3, 0.0005), 0.005**2))
    dear = model.estimate(Shares(2.0 + 0.1 * few, np.full(3, 0.0005), 2.0**2))
    assert cheap.standard_error < 0.001
    assert dear.standard_error > 0.03
    assert cheap.spread_degrees > 2 + 2, "what is usual is worth as much again as three launches"


def test_one_that_goes_wrong_does_not_raise_what_is_predicted_for_all() -> None:
    good = simulated(60, 4, 0.05, 0.001)
    wild = Shares(np.array([0.5, 5.0, 0.5, 5.0]), np.full(4, 0.001), 0.25)
    assert fit([*good, wild]).relative == pytest.approx(fit(good).relative, rel=0.6)


@pytest.mark.parametrize("many", [0, 9])
def test_fewer_than_ten_cases_show_nothing_and_what_was_measured_elsewhere_stands_in(many: int) -> None:
    few = simulated(many, 4, 0.2, 0.001) if many else []
    assert fit(few) == LaunchModel(relative=RELATIVE**2, rounds=1.0, usual=UNKNOWN, run_effect=RUN_EFFECT)
    assert fit(simulated(10, 4, 0.2, 0.001)) != fit(few)


def test_cases_of_one_launch_do_not_count() -> None:
    single = [Shares(np.array([0.5]), np.array([0.01]), 0.25)] * 40
    assert fit(single) == LaunchModel()


def test_where_no_error_over_rounds_is_known_none_is_predicted() -> None:
    """Results of other tools have one value for each launch."""
    shares = Shares(np.array([0.5, 0.6]), np.array([math.nan, math.nan]), 0.25)
    assert shares.squared_error == 0.0
    assert LaunchModel(relative=0.01).predicted(shares) == pytest.approx(0.0025)
    partly = Shares(np.array([0.5, 0.6]), np.array([0.1, math.nan]), 0.0)
    assert LaunchModel(relative=0.01, rounds=2.0).predicted(partly) == pytest.approx(0.02)


# The run effect
VALUES = np.array([0.19, 0.20, 0.21, 0.20])


def test_the_effect_of_a_run_is_not_averaged_out_by_its_launches() -> None:
    """By hand: a port at 20% of today shifts by 4% of that; a hundred times the launches leave that error as it is."""
    model = LaunchModel(run_effect=0.04)
    few, many = (model.estimate(Shares(np.tile(VALUES, n), np.zeros(4 * n), 0.04), 0.2) for n in (1, 100))
    assert few.shared == many.shared == pytest.approx(0.008**2)
    assert few.standard_error > many.standard_error > 0.008
    assert many.standard_error == pytest.approx(0.008, rel=0.01)


def test_six_launches_are_trimmed_only_where_the_report_shows_what_spread_is_usual():
    shares = Shares(np.array([0.2, 0.21, 0.19, 0.2, 0.22, 0.9]), np.zeros(6), 0.04)
    assert LaunchModel().estimate(shares).trimmed == 0
    assert LaunchModel(usual=Spread(4.0, 1.0)).estimate(shares).trimmed == 1


def test_several_runs_average_it_out() -> None:
    model = LaunchModel(run_effect=0.04)
    shared = [model.estimate(Shares(VALUES, np.zeros(4), 0.04), 0.2, runs).shared for runs in (1, 4)]
    assert shared == pytest.approx([0.008**2, 0.004**2])


def test_what_does_not_shift_has_no_part_in_it() -> None:
    found = LaunchModel(run_effect=0.04).estimate(Shares(VALUES, np.zeros(4), 0.04))
    assert found.shared == 0.0
    assert found.standard_error == Estimate.of(VALUES).standard_error


def test_intervals_hold_what_runs_would_find_on_average() -> None:
    """Three launches of 40 ports: a run shifts all of them by 4%, launches vary by 3%; 95% of intervals hold."""
    rng = np.random.default_rng(9)
    true, held = np.geomspace(0.01, 0.9, 40), []
    for _ in range(60):
        shift = np.exp(0.04 * rng.standard_normal())
        values = true[:, None] * shift * np.exp(0.03 * rng.standard_normal((40, 3)))
        shares = [Shares(one, np.zeros(3), float(one.mean()) ** 2) for one in values]
        model = fit(shares)
        ends = [model.estimate(one, float(one.values.mean())).interval() for one in shares]
        held += [low <= share <= high for (low, high), share in zip(ends, true, strict=True)]
    # All ports of a run shift together, so that the runs are what is independent.
    assert np.mean(held) == pytest.approx(0.95, abs=0.05)


def test_a_spread_is_moved_to_its_own_prediction() -> None:
    """By hand: 2 degrees of its own at a variance of 1e-4, 6 of what is usual at 1.5 times the predicted 1e-4."""
    model = LaunchModel(relative=1e-4, rounds=0.0, usual=Spread(degrees=6.0, variance=1.5), run_effect=0.0)
    found = model.estimate(Shares(np.array([0.99, 1.0, 1.01]), np.zeros(3), 1.0))
    assert found.spread_degrees == pytest.approx(8.0)
    assert found.moderated**2 == pytest.approx((2 * 1e-4 + 6 * 1.5e-4) / 8)

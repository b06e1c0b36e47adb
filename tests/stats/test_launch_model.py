"""What launches, machines and runs differ by, found again in drawn numbers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from pyopbench.stats.estimate import UNKNOWN, Estimate, Spread
from pyopbench.stats.launch_model import (
    RELATIVE,
    RUN_EFFECT,
    LaunchModel,
    MachinesEstimate,
    Shares,
    fit,
    over_each_machine,
    over_machines,
)
from pyopbench.stats.unresolved import MoreMachines

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


def machines_simulated(rng: np.random.Generator, counts: list[int], between: float) -> tuple[np.ndarray, list[str]]:
    """Return shares of launches whose true mean over all machines is 0, and the machine of each."""
    means = rng.normal(0, between, len(counts))
    values = np.concatenate([mean + rng.normal(0, WITHIN, n) for mean, n in zip(means, counts, strict=True)])
    return values, [f"m{place}" for place, n in enumerate(counts) for _ in range(n)]


def coverage(counts: list[int], between: float, usual: Spread = Spread(), seed: int = 1) -> float:  # noqa: B008
    """Return how often the 95% interval holds the truth."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(TRIALS):
        low, high = over_machines(*machines_simulated(rng, counts, between), usual, WITHIN**2).interval()
        held += low <= 0 <= high
    return held / TRIALS


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize(
    "counts", [[4, 4], [2, 8], [3, 3, 3], [2, 4, 8, 2, 4], [4] * 10, [2, 6] * 20], ids=lambda counts: f"{len(counts)}"
)
def test_an_interval_holds_the_mean_of_all_machines_as_often_as_it_says(counts: list[int], between: float) -> None:
    assert coverage(counts, between) >= LEAST_COVERAGE


def test_launches_that_are_pooled_over_machines_are_wrong_nearly_always() -> None:
    """What the level of machines is for: the same data with machines forgotten."""
    rng = np.random.default_rng(2)
    held = 0
    for _ in range(TRIALS):
        values, _ = machines_simulated(rng, [12, 12, 12], 0.05)
        low, high = Estimate.of(values).interval()
        held += low <= 0 <= high
    assert held / TRIALS < MOST_COVERAGE_POOLED


def test_one_launch_on_each_machine_is_students_interval() -> None:
    values = np.array([0.1, 0.2, 0.4, 0.5])
    found = over_machines(values, ["a", "b", "c", "d"], Spread(8.0, 1.0), 1e-8)
    expected = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert found.interval() == pytest.approx(expected, rel=1e-4)
    assert found.i_squared == pytest.approx(1.0, abs=1e-4)


def test_the_variance_between_machines_is_that_of_paule_and_mandel() -> None:
    """Against the defining equation, solved by bisection: the weighted squares are as many as degrees of freedom."""
    rng = np.random.default_rng(3)
    counts = [2, 3, 5, 9, 4]
    values, machines = machines_simulated(rng, counts, 0.05)
    found = over_machines(values, machines)
    means = np.array([values[np.array(machines) == name].mean() for name in dict.fromkeys(machines)])
    means[3] = Estimate.of(values[np.array(machines) == "m3"]).mean  # trimmed
    variances = found.within**2 / np.array(counts)

    def excess(between: float) -> float:
        weights = 1 / (variances + between)
        return float(weights @ (means - weights @ means / weights.sum()) ** 2) - 4

    between = optimize.brentq(excess, 0.0, 1.0, xtol=1e-15)
    weights = 1 / (variances + between)
    assert found.between**2 == pytest.approx(between, rel=1e-6)
    assert found.mean == pytest.approx(float(weights @ means / weights.sum()))
    assert found.error == pytest.approx(weights.sum() ** -0.5)
    assert found.degrees == 4


def test_machines_that_agree_by_luck_are_no_surer_than_their_launches() -> None:
    values = np.array([-0.1, 0.1, -0.1, 0.1, -0.1, 0.1])
    found = over_machines(values, list("aabbcc"))
    assert found.between == 0
    assert found.i_squared == 0
    assert found.error == pytest.approx(math.sqrt(0.02 / 6))


def test_launches_without_any_spread_leave_that_of_machines() -> None:
    found = over_machines(np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]), list("aabbcc"))
    assert (found.mean, found.between, found.error) == pytest.approx((2.0, 1.0, 3**-0.5))
    same = over_machines(np.array([1.0, 1.0, 1.0, 1.0]), list("aabb"))
    assert (same.mean, same.error, same.interval()) == (1.0, 0.0, (1.0, 1.0))


def test_more_launches_do_not_settle_what_machines_differ_by() -> None:
    found = over_machines(np.array([0.0, 0.001, 0.1, 0.101, 0.2, 0.201]), list("aabbcc"))
    assert found.launches_to_clear(0.03, 0.95) is None
    remedy = found.remedy(0.03, 0.95)
    assert isinstance(remedy, MoreMachines)
    assert remedy.enough is not None
    assert remedy.enough > 3
    more = remedy.enough

    def clears(machines: int) -> bool:
        return float(stats.t.ppf(0.975, machines - 1)) * found.error * (3 / machines) ** 0.5 < abs(found.mean - 0.03)

    assert clears(more)
    assert not clears(more - 1)


def test_of_what_lies_on_the_border_no_number_of_machines_is_enough() -> None:
    found = over_machines(np.array([-0.1, -0.1, 0.1, 0.1]), list("aabb"))
    assert found.remedy(0.0, 0.95) == MoreMachines(2, None)


def test_the_model_takes_machines_into_account_where_there_are_several() -> None:
    model = LaunchModel()
    values, errors = np.array([0.1, 0.11, 0.3, 0.31]), np.zeros(4)
    several = model.estimate(Shares(values, errors, 1.0, tuple("aabb")), port_share=1.0)
    assert isinstance(several, MachinesEstimate)
    assert several.machines == 2
    one = model.estimate(Shares(values, errors, 1.0, tuple("aaaa")), port_share=1.0)
    assert one == model.estimate(Shares(values, errors, 1.0), port_share=1.0)
    assert one.shared > 0


def test_what_launches_differ_by_is_fitted_within_machines() -> None:
    rng = np.random.default_rng(4)
    every = []
    for _ in range(60):
        values, machines = machines_simulated(rng, [6, 6, 6], 0.3)
        every.append(Shares(values, np.zeros(18), 1.0, tuple(machines)))
    assert math.sqrt(fit(every).relative) == pytest.approx(WITHIN, rel=0.1)


def test_latencies_are_means_over_machines_where_a_case_was_on_several() -> None:
    medians = pd.DataFrame(
        {"case": ["x"] * 4 + ["y"] * 2, "launch": [0, 1, 2, 3, 0, 1], "value": [1.0, 1.0, 3.0, 3.0, 5.0, 7.0]}
    )
    found = over_each_machine(medians, {0: "a", 1: "a", 2: "b", 3: "b"})
    assert (found["x"].mean, found["x"].n, found["y"].mean) == (2.0, 4, 6.0)
    assert isinstance(found["x"], MachinesEstimate)
    assert not isinstance(found["y"], MachinesEstimate)

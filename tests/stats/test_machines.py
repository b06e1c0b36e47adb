"""Several machines are a level of their own: intervals cover what holds on machines that were not measured."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, stats

from pyopbench.stats.estimate import Estimate
from pyopbench.stats.launch_model import LaunchModel, Shares, fit
from pyopbench.stats.machines import MachinesEstimate, over_each_machine, over_machines
from pyopbench.stats.spread import Spread
from pyopbench.stats.unresolved import MoreMachines

WITHIN = 0.035
"""Standard deviation between launches of one machine, as was measured (docs/statistics.md)."""
TRIALS = 1500
LEAST_COVERAGE = 0.94
MOST_COVERAGE_POOLED = 0.6
BETWEEN = (0.0, 0.01, 0.05)


def simulated(rng: np.random.Generator, counts: list[int], between: float) -> tuple[np.ndarray, list[str]]:
    """Return shares of launches whose true mean over all machines is 0, and the machine of each."""
    means = rng.normal(0, between, len(counts))
    values = np.concatenate([mean + rng.normal(0, WITHIN, n) for mean, n in zip(means, counts, strict=True)])
    return values, [f"m{place}" for place, n in enumerate(counts) for _ in range(n)]


def coverage(counts: list[int], between: float, usual: Spread = Spread(), seed: int = 1) -> float:  # noqa: B008
    """Return how often the 95% interval holds the truth."""
    rng = np.random.default_rng(seed)
    held = 0
    for _ in range(TRIALS):
        low, high = over_machines(*simulated(rng, counts, between), usual, WITHIN**2).interval()
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
        values, _ = simulated(rng, [12, 12, 12], 0.05)
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
    values, machines = simulated(rng, counts, 0.05)
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
        values, machines = simulated(rng, [6, 6, 6], 0.3)
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

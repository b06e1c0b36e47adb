"""Where the next second goes, against simulated launches: what is said to be better has the smaller error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyopbench.stats.allocation import Costs, LaunchSummary, Left, Made, Variances, best_rounds, better, variances


def simulated(
    between: float, within: float, launches: int, rounds: int, cases: int, seed: int
) -> list[list[list[float]]]:
    """Return rounds of launches of cases, normal with these standard deviations."""
    rng = np.random.default_rng(seed)
    shift = rng.normal(0, between, (cases, launches, 1))
    return (shift + rng.normal(0, within, (cases, launches, rounds))).tolist()  # type: ignore[no-any-return]


def variances_of(cases: list[list[list[float]]]) -> Variances | None:
    return variances([[LaunchSummary.of(rounds) for rounds in launches] for launches in cases])


@pytest.mark.parametrize("launches", [2, 3, 6])
def test_variances_are_those_that_were_put_in(launches: int) -> None:
    """Of launches that differ by 3.5%, with rounds that scatter by 15%, in 2,000 cases."""
    found = variances_of(simulated(0.035, 0.15, launches, 40, 2000, 1))
    assert found is not None
    assert math.sqrt(found.within / (math.pi / 2)) == pytest.approx(0.15, rel=0.05)
    assert math.sqrt(found.between) == pytest.approx(0.035, rel=0.15)


def test_spoilt_rounds_and_odd_cases_move_nothing_much() -> None:
    values = simulated(0.035, 0.15, 3, 41, 300, 2)
    for case in values:
        for rounds in case:
            rounds[0] += 50.0
    for case in values[:30]:
        case[0] = [value + 5.0 for value in case[0]]
    found = variances_of(values)
    assert found is not None
    assert math.sqrt(found.between) == pytest.approx(0.035, rel=0.4)
    assert math.sqrt(found.within / (math.pi / 2)) == pytest.approx(0.15, rel=0.1)


def test_launches_that_do_not_differ_have_no_variance_between_them() -> None:
    found = variances_of([[[0.0, 1.0, -1.0, 0.0], [0.0, -1.0, 1.0, 0.0]]])
    assert found is not None
    assert found.between == 0.0
    assert math.isinf(best_rounds(found, Costs(10.0, 1.0)))


def test_one_launch_tells_nothing() -> None:
    assert variances_of([[[1.0, 2.0]], [[2.0, 1.0, 3.0]]]) is None


def test_the_best_number_of_rounds_is_that_of_the_two_level_model() -> None:
    """16 s a launch, 0.25 s a round, and twice as much within as between: sqrt(64 x 2)."""
    assert best_rounds(Variances(0.5, 1.0), Costs(16.0, 0.25)) == pytest.approx(math.sqrt(128))


def mean_error(between: float, within: float, launches: list[int], seed: int) -> float:
    """Return the standard deviation of the mean over launches of the medians of so many rounds each, by simulation."""
    rng = np.random.default_rng(seed)
    values = [rng.normal(0, between, 4000) + np.median(rng.normal(0, within, (4000, n)), axis=1) for n in launches]
    return float(np.mean(values, axis=0).std())


WAYS = {
    "rounds": [(0.002, 5.0, 60.0), (0.05, 60.0, 90.0), (0.03, 20.0, 300.0)],
    "launch": [(0.15, 2.0, 60.0), (0.2, 5.0, 60.0), (0.3, 10.0, 100.0)],
}
ROUND_SECONDS, ROUNDS = 0.5, 12


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("expected", "between", "launch_seconds", "seconds"), [(name, *way) for name, ways in WAYS.items() for way in ways]
)
def test_what_is_said_to_be_better_is_so_in_a_simulation(
    expected: str, between: float, launch_seconds: float, seconds: float
) -> None:
    """Three warm launches, whose rounds scatter by 15%, go on for as many rounds again or more, or stay as they are."""
    found = variances_of(simulated(between, 0.15, 3, ROUNDS, 500, 4))
    assert found is not None

    def least_error(kept: int) -> float:
        left = seconds - 3 * (kept - ROUNDS) * ROUND_SECONDS
        errors = [mean_error(between, 0.15, 3 * [kept], 5)]
        for further in range(1, 20):
            rounds = int((left - further * launch_seconds) / (further * ROUND_SECONDS))
            if rounds >= 4:
                errors.append(mean_error(between, 0.15, [*3 * [kept], *further * [rounds]], 6))
        return min(errors)

    another = least_error(ROUNDS)
    more = min(map(least_error, range(2 * ROUNDS, ROUNDS + int(seconds / (3 * ROUND_SECONDS)) + 1, 24)))
    assert (another < 0.98 * more, more < 0.98 * another) == (expected == "launch", expected == "rounds")
    assert better(found, Costs(launch_seconds, ROUND_SECONDS), [Made(3, ROUNDS)], Left(seconds)) == expected


def test_without_a_limit_a_launch_is_measured_to_its_best_number_of_rounds() -> None:
    found, costs = Variances(0.5, 1.0), Costs(16.0, 0.25)
    assert better(found, costs, [Made(3, 11.0)], Left(math.inf)) == "rounds"
    assert better(found, costs, [Made(3, 12.0)], Left(math.inf)) == "launch"


def test_few_launches_are_too_few_to_know_their_own_spread() -> None:
    """Where nothing else tells it: the fewer they are, the wider the interval, beside what they differ by."""
    found, costs = Variances(1e-6, 0.01), Costs(5.0, 0.1)
    assert better(found, costs, [Made(3, 400)], Left(300.0)) == "rounds"
    assert better(found, costs, [Made(3, 400)], Left(300.0), known=0.0) == "launch"


def test_launches_that_the_run_may_not_have_are_not_saved_for() -> None:
    """Six launches at the most: the warm ones get as many rounds as the three others will have."""
    found, costs = Variances(0.0004, 0.03), Costs(5.0, 0.1)
    assert better(found, costs, [Made(3, 150)], Left(600.0)) == "launch"
    assert better(found, costs, [Made(3, 150)], Left(600.0, 3)) == "rounds"

"""Two runs that were not interleaved: what runs differ by is in every interval, which simulations hold to its level."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats as reference

from pyopbench.judge.verdicts import verdicts_on
from pyopbench.stats.corrections import ONE_ANALYSIS
from pyopbench.stats.estimate import LEAST_COMPARISONS, UNKNOWN, Estimate, Spread, usual_spread
from pyopbench.stats.unpaired import LEAST_DEGREES, RUN_SPREAD, Unpaired, between_runs, unpaired
from pyopbench.stats.unresolved import FewOtherCases, InterleavedRun, MoreLaunchesOfBothRuns
from simulate import Floats, heavy, normal, unpaired_pairs

pytestmark = pytest.mark.long

FLOOR = math.log1p(RUN_SPREAD)


def test_without_a_part_between_runs_it_is_welchs_interval() -> None:
    """As SciPy has it, for few launches (which are not trimmed) and one case (which has no usual spread)."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.0, 0.02, 5), rng.normal(0.1, 0.05, 4)
    (found,) = unpaired([Estimate.of(a)], [Estimate.of(b)], run_spread=1e-12)
    expected = reference.ttest_ind(b, a, equal_var=False).confidence_interval(0.95)
    assert found.interval() == pytest.approx((expected.low, expected.high), rel=1e-6)
    assert found.mean == pytest.approx(b.mean() - a.mean())


def test_a_pair_alone_is_widened_by_what_is_assumed() -> None:
    launches = [Estimate.of([0.0, 0.001, -0.001, 0.0])]
    (found,) = unpaired(launches, launches)
    assert found.between.variance == pytest.approx(FLOOR**2)
    assert found.standard_error == pytest.approx(math.hypot(FLOOR, launches[0].standard_error * math.sqrt(2)))


@pytest.mark.parametrize(("many", "others"), [(1, 0), (4, 3)])
def test_one_launch_without_enough_other_cases_says_how_many_there_are(many: int, others: int) -> None:
    launch = [Estimate.of([0.0])] * many
    assert unpaired(launch, launch)[0].why_unknown == FewOtherCases(others)


def between(differences: list[float]) -> Spread:
    """Return what runs differ by, told from differences of cases whose launches hardly differ."""
    usual = usual_spread((abs(one), 1.0) for one in differences)
    return between_runs(np.array(differences), np.full(len(differences), 1e-9), usual, FLOOR)


def test_what_all_other_cases_moved_by_counts_as_the_machines() -> None:
    """Twenty cases that are all 20% slower show nothing about any of them; one of twenty that is, does."""
    together = unpaired([Estimate.of([0.0, 0.001, -0.001])] * 20, [Estimate.of([0.18, 0.181, 0.179])] * 20)
    assert all(one.interval()[0] < 0 < one.interval()[1] for one in together)
    rng = np.random.default_rng(1)
    values = [rng.normal(0.0, 0.002, 4) for _ in range(20)]
    second = [rng.normal(0.3 if place == 7 else 0.0, 0.002, 4) for place in range(20)]
    apart = unpaired([Estimate.of(one) for one in values], [Estimate.of(one) for one in second])
    verdicts = verdicts_on(apart, 0.03, ONE_ANALYSIS)
    assert [verdict.outcome for verdict in verdicts].index("slower") == 7
    assert [verdict.outcome for verdict in verdicts].count("slower") == 1


def test_between_runs_is_estimated_from_the_others_and_never_below_the_floor() -> None:
    assert between([]).variance == pytest.approx(FLOOR**2)
    few = between([0.1, -0.2])
    assert few.variance == pytest.approx((0.1**2 + 0.2**2) / 2, rel=1e-3)
    assert few.degrees == 2
    rng = np.random.default_rng(2)
    many = between(list(rng.normal(0.0, 0.1, 2000)))
    assert math.sqrt(many.variance) == pytest.approx(0.1, rel=0.1)
    assert between(list(rng.normal(0.0, 1e-4, 50))).variance == pytest.approx(FLOOR**2)
    assert between(list(0.1 * rng.standard_cauchy(30))).degrees >= LEAST_DEGREES
    assert between(list(0.1 * rng.standard_cauchy(300))).degrees < LEAST_DEGREES


def test_what_launches_show_already_is_not_added_again() -> None:
    """Launches that differ by 40% leave means of four that differ by 28%, though the runs are alike."""
    rng = np.random.default_rng(3)
    pair = [[Estimate.of(rng.normal(0.0, 0.4, 4)) for _ in range(400)] for _ in range(2)]
    found = unpaired(*pair)
    total = [one.standard_error for one in found]
    assert float(np.median(total)) == pytest.approx(0.4 * math.sqrt(2 / 4), rel=0.15)


def test_one_launch_takes_other_cases_to_tell_how_launches_differ() -> None:
    one = Estimate.of([0.0])
    few = unpaired([one] * LEAST_COMPARISONS, [one] * LEAST_COMPARISONS)
    assert not few[0].known
    assert math.isnan(few[0].interval()[0])
    assert verdicts_on(few, 0.03, ONE_ANALYSIS)[0].reason == FewOtherCases(LEAST_COMPARISONS - 1)
    rng = np.random.default_rng(4)
    many = LEAST_COMPARISONS + 1
    second = [Estimate.of([value]) for value in rng.normal(0.0, 0.02, many)]
    assert all(found.known for found in unpaired([one] * many, second))


def test_what_was_never_measured_is_not_known() -> None:
    nothing = Estimate.of([])
    (found,) = unpaired([nothing], [Estimate.of([0.0, 1.0])])
    assert not found.known
    assert found.effect_p(0.03) == 1.0
    assert Unpaired(math.nan, math.nan, 0).between == UNKNOWN


def test_the_reason_says_what_would_settle_it() -> None:
    (machine,) = unpaired([Estimate.of([0.0, 1e-4, 0.0])], [Estimate.of([0.05, 0.05, 0.0501])])
    assert machine.remedy(0.03, 0.95) == InterleavedRun(pytest.approx(RUN_SPREAD, rel=0.02))  # type: ignore[arg-type]
    (launches,) = unpaired([Estimate.of([0.0, 1.0, -1.0])], [Estimate.of([0.0, 1.0, -1.0])])
    assert launches.remedy(0.03, 0.95) == MoreLaunchesOfBothRuns()


FEW = ((1, 3), (4, 4))
MANY = ((30, 3), (30, 8), (30, 1))
"""Cases, and launches of each run."""


def error(share: float, trials: int) -> float:
    """Three standard errors of a simulated share."""
    return 3 * math.sqrt(share * (1 - share) / trials)


@pytest.mark.nightly
@pytest.mark.parametrize("noise", [normal, pytest.param(heavy, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("cases", "launches", "common", "own"),
    [
        *((cases, launches, common, 0.02) for cases, launches in MANY for common in (0.02, 0.06)),
        *((cases, launches, common, common) for cases, launches in (*FEW, *MANY) for common in (0.0, 0.02)),
    ],
)
def test_intervals_cover_at_their_level(
    noise: Callable[..., Floats], cases: int, launches: int, common: float, own: float
) -> None:
    """Runs that differ by `common` in all cases and by `own` in each; true ratios of 1.

    Few cases cannot show that runs differ by more than is assumed, so that only up to that is promised of them.
    """
    pairs, trials = 60 if cases > 1 else 600, 0
    inside = 0
    for first, second in unpaired_pairs(noise, (cases, launches), (common, own), pairs, seed=cases + launches):
        ends = [one.interval() for one in unpaired(first, second)]
        inside += sum(low <= 0 <= high for low, high in ends)
        trials += cases
    # Cases of one pair share what is common to its runs, so they count as fewer.
    assert inside / trials >= 0.95 - error(0.05, trials if common == 0 else max(pairs, trials // 10))

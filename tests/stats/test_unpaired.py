"""Two runs that were not interleaved: what runs differ by is in the interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pyopbench.stats.estimate import FEWEST_DEGREES, Estimate
from pyopbench.stats.unpaired import ASSUMED_DEGREES, RUN_SPREAD, difference, unpaired

FIRST, SECOND = [0.10, 0.12, 0.09, 0.11], [0.20, 0.25, 0.18]


def estimates(*means: float, launches: int = 4, spread: float = 0.01) -> list[Estimate]:
    return [Estimate(mean, spread if launches > 1 else math.nan, launches, launches - 1.0) for mean in means]


def test_the_error_is_that_of_scipys_test_by_welch() -> None:
    found = difference(Estimate.of(FIRST), Estimate.of(SECOND))
    test = scipy_stats.ttest_ind(SECOND, FIRST, equal_var=False)
    assert found.mean / found.standard_error == pytest.approx(test.statistic)
    assert (found.n, found.degrees) == (3, 2.0)


def test_two_runs_of_one_case_differ_by_what_is_assumed() -> None:
    (found,) = unpaired([Estimate.of(FIRST)], [Estimate.of(SECOND)])
    within = difference(Estimate.of(FIRST), Estimate.of(SECOND)).standard_error
    assert found.standard_error == pytest.approx(math.hypot(within, math.log1p(RUN_SPREAD)))
    assert found.shared_degrees == ASSUMED_DEGREES


def test_what_other_cases_differ_by_widens_each_and_the_case_itself_does_not() -> None:
    """By their median square, over the 0.455 that it is of the mean square of a normal variable."""
    found = unpaired(estimates(0, 0, 0, 0), estimates(0.5, 0.1, -0.1, 0.1))
    assert found[0].shared == found[1].shared == pytest.approx(0.01 / 0.4549, rel=1e-3)
    assert [one.shared_degrees for one in found] == [3.0] * 4


def test_one_launch_has_an_interval_only_among_enough_cases() -> None:
    means = np.linspace(-0.05, 0.05, FEWEST_DEGREES + 1)
    many = unpaired(estimates(*[0] * len(means), launches=1), estimates(*means, launches=1))
    assert all(one.known for one in many)
    assert [one.standard_error for one in many] == pytest.approx([math.sqrt(one.shared) for one in many])
    few = unpaired(estimates(*[0] * FEWEST_DEGREES, launches=1), estimates(*means[1:], launches=1))
    assert not any(one.known for one in few)


def test_more_launches_do_not_settle_what_runs_differ_by() -> None:
    (found,) = unpaired(estimates(0.0), estimates(0.04))
    assert found.launches_to_clear(0.03, 0.95) is None

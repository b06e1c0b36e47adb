"""A handful of values: as NumPy has them, in any order, and nothing where there is nothing to tell."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest

from pyopbench.stats.few_values import mean_and_deviation


@pytest.mark.parametrize("many", [2, 3, 5, 8])
def test_they_are_those_of_the_standard_library_in_any_order(many: int) -> None:
    values = np.random.default_rng(many).normal(1e-4, 1e-5, many).tolist()
    found = mean_and_deviation(values)
    assert found == pytest.approx((statistics.fmean(values), statistics.stdev(values)))
    assert mean_and_deviation(values[::-1]) == found


def test_one_value_has_no_deviation_and_none_has_nothing() -> None:
    mean, deviation = mean_and_deviation([2.0])
    assert mean == 2.0
    assert math.isnan(deviation)
    assert all(map(math.isnan, mean_and_deviation([])))


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_makes_nothing_of_all(odd: float) -> None:
    assert all(map(math.isnan, mean_and_deviation([1.0, odd, 2.0])))

"""Logarithmic axes."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pyopbench.report.charts import log_axis


def row(seconds: float, low: float, high: float) -> dict[str, float]:
    return {"seconds": seconds, "low": low, "high": high}


def test_rows_without_a_value_are_left_out_and_missing_ends_are_none():
    rows = [row(1.2345678, math.nan, math.nan), row(math.nan, 1, 2), row(0.0, 1, 2), row(2.0, 0.0, math.inf)]
    assert log_axis.drawable(rows, "seconds") == [row(1.2346, None, None), row(2.0, None, None)]


def test_limits_hold_every_interval():
    low, high = log_axis.limits([row(1.0, 0.8, 1.3), row(10.0, 9.0, 11.0)], "seconds")
    assert 0.6 < low < 0.8
    assert 11.0 < high < 13.0


def test_one_wide_interval_does_not_flatten_the_rest():
    low, high = log_axis.limits([row(1.0, 1e-9, 1e9), row(1.5, 1.4, 1.6)], "seconds")
    assert 0.4 < low < 0.5
    assert 2.0 < high < 2.4


def test_ticks_get_rounder_as_the_axis_gets_longer():
    assert log_axis.ticks([0.9e-6, 1.1e-3]) == [1e-6, 1e-5, 1e-4, 1e-3]
    assert log_axis.ticks([0.9, 12]) == [1, 2, 5, 10]
    assert log_axis.ticks([1.02, 1.16]) == [1.05, 1.1, 1.15]


@given(st.floats(1e-9, 1e3), st.floats(1.0, 1e5))
def test_there_are_one_to_six_ticks_between_the_ends(low, factor):
    ends = [low, low * factor]
    ticks = log_axis.ticks(ends)
    assert 1 <= len(ticks) <= log_axis.MOST_TICKS
    assert all(ends[0] <= tick <= ends[1] for tick in ticks)
    assert ticks == sorted(ticks)

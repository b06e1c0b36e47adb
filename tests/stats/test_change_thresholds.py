"""The table of thresholds: what it says is what simulated series do, and it goes up with their length."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest

from places import ROOT
from pyopbench.stats.change_thresholds import ALARM_RATES, FEWEST_POINTS, LENGTHS, THRESHOLDS, threshold


@pytest.fixture
def script(monkeypatch):
    """The script that makes the table."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    monkeypatch.delitem(sys.modules, "change_thresholds", raising=False)
    import change_thresholds

    return change_thresholds


@pytest.mark.parametrize("noise", ["independent", "autocorrelated"])
@pytest.mark.parametrize("n", [8, 30])
def test_the_table_is_what_its_script_makes(script, noise, n):
    found = script.quantiles(n, noise, 3_000)
    told = [threshold(n, noise, rate) for rate in ALARM_RATES]
    assert found[:2] == pytest.approx(told[:2], rel=0.06)


def test_the_table_is_whole():
    assert LENGTHS[0] == FEWEST_POINTS
    for rates in THRESHOLDS.values():
        assert set(rates) == set(ALARM_RATES)
        assert all(len(column) == len(LENGTHS) for column in rates.values())
        columns = np.array([rates[rate] for rate in sorted(ALARM_RATES, reverse=True)])
        assert (np.diff(columns, axis=0) > 0).all()


def test_between_lengths_it_is_between_their_thresholds_and_beyond_them_at_the_end():
    low, high = threshold(100, "independent", 0.01), threshold(150, "independent", 0.01)
    assert min(low, high) <= threshold(120, "independent", 0.01) <= max(low, high)
    assert threshold(5_000, "independent", 0.01) == threshold(LENGTHS[-1], "independent", 0.01)
    assert math.isinf(threshold(FEWEST_POINTS - 1, "independent", 0.01))

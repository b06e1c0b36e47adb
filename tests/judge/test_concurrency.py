"""Rates under threads are held against the callback's of the same launch, with as many threads."""

from __future__ import annotations

import math

import pytest

from pyopbench.judge.concurrency import threaded_calls
from pyopbench.model.case import BASELINE
from thread_calls import document

RATES = {BASELINE: {1: 1000.0, 4: 900.0}, "native": {1: 2000.0, 4: 6000.0}}


def test_rates_and_ratios_are_those_of_the_truth_within_their_intervals() -> None:
    found = {(one.label, one.threads): one for one in threaded_calls(document(RATES), BASELINE)}
    assert len(found) == 4
    for (label, threads), one in found.items():
        truth = RATES[label][threads]
        assert one.rate.low < truth < one.rate.high
        times = one.times_baseline
        assert (times is None) == (label == BASELINE)
        assert times is None or times.value == pytest.approx(truth / RATES[BASELINE][threads], rel=0.05)
        assert one.latencies == pytest.approx((threads / truth, 2 * threads / truth, None))
    # What a launch has in common cancels in a ratio.
    port = found["native", 4]
    assert port.times_baseline is not None
    assert port.times_baseline.high / port.times_baseline.low < port.rate.high / port.rate.low


def test_without_the_callback_there_is_no_ratio() -> None:
    (one,) = threaded_calls(document({"native": {2: 100.0}}), BASELINE)
    assert one.times_baseline is None


def test_one_launch_has_no_interval() -> None:
    made = document(RATES)
    made["blocks"] = [one for one in made["blocks"] if one["launch"] == 0]
    assert all(math.isnan(one.rate.low) for one in threaded_calls(made, BASELINE))

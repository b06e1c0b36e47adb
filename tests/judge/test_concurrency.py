"""Rates under threads are compared with the callback's of the same launch, with as many threads."""

from __future__ import annotations

import math

import pytest

from frames import Bench
from pyopbench.judge.concurrency import threaded_calls
from pyopbench.judge.judge import judge_run
from pyopbench.model.case import BASELINE, Failure
from thread_calls import case_of, run

RATES = {BASELINE: {1: 1000.0, 4: 900.0}, "native": {1: 2000.0, 4: 6000.0}}


def test_rates_and_ratios_are_those_of_the_truth_within_their_intervals() -> None:
    found = {(one.label, one.threads): one for one in threaded_calls(run(RATES), BASELINE)}
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
    (one,) = threaded_calls(run({"native": {2: 100.0}}), BASELINE)
    assert one.times_baseline is None
    assert threaded_calls(Bench({BASELINE: 1e-3}).run(), BASELINE) == (), "called by no threads"


def test_one_launch_has_no_interval() -> None:
    assert all(math.isnan(one.rate.low) for one in threaded_calls(run(RATES, launches=1), BASELINE))


def test_what_has_failed_in_a_launch_has_no_number() -> None:
    lost = Failure(case_of("native", 4), "raised", "now and then", 2)
    found = threaded_calls(run(RATES, failures=[lost]), BASELINE)
    assert {(one.label, one.threads) for one in found} == {(BASELINE, 1), (BASELINE, 4), ("native", 1)}


def test_there_is_a_decision_for_each_number_of_threads() -> None:
    """A port that gains nothing by one thread pays where several call."""
    judgement = judge_run(run({BASELINE: {1: 1000.0, 4: 900.0}, "native": {1: 1000.0, 4: 6000.0}}))
    answers = {one.mode: one.action for one in judgement.decisions}
    assert (answers["threads:1"], answers["threads:4"]) == ("keep", "port")

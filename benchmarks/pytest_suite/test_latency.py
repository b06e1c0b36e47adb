"""Every op in every variant through the fixture of pytest-benchmark: calls of a `tf.function`, float32.

A combination that cannot be is skipped with its reason; one whose values or gradients are wrong fails.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from pyopbench.worker.suite_api import DIRECTIONS, Case, Prepared, calibrate, measure_timer
from pytest_suite.chosen import cases, describe, prepared_or_skipped

TRIAL_SECONDS = 0.002
"""About how long a backward pass is tried, to know how many of them fit into the time of a case."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each case, and one that is skipped of each combination that cannot be."""
    option = metafunc.config.option
    found = cases(option, mode="call", directions=option.directions or DIRECTIONS, placements=(option.placement,))
    metafunc.parametrize("case", list(found))


def test_latency(benchmark: Any, case: Case, pytestconfig: pytest.Config) -> None:
    """Time one case."""
    title = case.direction if case.placement == "cpu" else f"{case.direction}, {case.placement}"
    describe(benchmark, case, title, is_latency=True)
    prepared = prepared_or_skipped(case)
    if case.direction == "backward":
        _benchmark_backward(benchmark, prepared, pytestconfig.option)
    else:
        benchmark(prepared.segments[0] if case.direction == "forward" else prepared)


def _benchmark_backward(benchmark: Any, prepared: Prepared, option: Any) -> None:
    forward, backward = prepared.segments
    cost = measure_timer(time.perf_counter)
    call_seconds = calibrate(prepared.segments, TRIAL_SECONDS, time.perf_counter, cost).call_seconds
    rounds = max(int(float(option.benchmark_max_time) / call_seconds), int(option.benchmark_min_rounds))

    def run_forward() -> None:  # what a setup returns would be taken for arguments
        forward()

    benchmark.pedantic(backward, setup=run_forward, rounds=rounds)

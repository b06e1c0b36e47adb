"""Forward calls by several threads at once, for `--threads 1,2`: what Python's lock in a callback costs a server.

pytest-benchmark times a block in which each thread makes so many calls (`extra_info["calls"]`); the seconds over all
calls of a block are `extra_info["call_seconds"]`.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from asv_suite.concurrency import BLOCK_SECONDS, Team
from pyopbench.worker.suite_api import Case, calibrate, measure_timer
from pytest_suite.chosen import cases, describe, prepared_or_skipped


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each forward case and each number of threads."""
    option = metafunc.config.option
    metafunc.parametrize("case", list(cases(option, mode="call", directions=("forward",), placements=("cpu",))))
    metafunc.parametrize("threads", option.threads, ids=lambda count: f"{count}threads")


def test_concurrent_calls(benchmark: Any, case: Case, threads: int, pytestconfig: pytest.Config) -> None:
    """Time blocks of calls by all threads."""
    describe(benchmark, case, f"forward, {threads} threads")
    (call,) = prepared_or_skipped(case).segments
    calls = calibrate((call,), BLOCK_SECONDS, time.perf_counter, measure_timer(time.perf_counter)).calls
    option, team = pytestconfig.option, Team(threads)
    rounds = max(int(float(option.benchmark_max_time) / BLOCK_SECONDS), int(option.benchmark_min_rounds))
    benchmark.pedantic(team.seconds, args=(call, calls), rounds=rounds, warmup_rounds=1)
    benchmark.extra_info.update(threads=threads, calls=calls)
    if benchmark.stats is not None:
        benchmark.extra_info["call_seconds"] = benchmark.stats.stats.median / calls / threads

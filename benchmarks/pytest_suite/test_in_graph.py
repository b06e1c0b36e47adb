"""What one op costs inside a graph, for `--in-graph`: the difference of two graphs, timed one after the other.

pytest-benchmark times the graph of copies. The empty graph is timed before each of its rounds, and what an op costs is
stored next to its times: `extra_info["op_seconds"]`.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import pytest

from pyopbench.worker.suite_api import Case, Unsupported, describe_error, prepare_in_graph
from pytest_suite.chosen import cases, describe

DIRECTIONS = ("forward", "forward_backward")
"""Inside a graph no clock parts backward from forward."""
ROUNDS = 200


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each case."""
    option = metafunc.config.option
    directions = tuple(one for one in option.directions if one in DIRECTIONS) or DIRECTIONS
    metafunc.parametrize("case", list(cases(option, mode="node", directions=directions, placements=("cpu",))))


def test_in_graph(benchmark: Any, case: Case) -> None:
    """Time a graph of copies and an empty one in turns."""
    describe(benchmark, case, f"{case.direction} in a graph")
    try:
        empty, graph = prepare_in_graph(case)
    except Unsupported as error:
        pytest.skip(describe_error(error))
    seconds: list[float] = []

    def run_empty() -> None:
        start = time.perf_counter()
        empty()
        seconds.append(time.perf_counter() - start)

    benchmark.pedantic(graph.segments[0], setup=run_empty, rounds=ROUNDS, warmup_rounds=1)
    benchmark.extra_info["copies"] = graph.copies
    if benchmark.stats is None:  # --benchmark-disable
        return
    pairs = zip(benchmark.stats.stats.data, seconds[-ROUNDS:], strict=True)
    benchmark.extra_info["op_seconds"] = statistics.median((one - none) / graph.copies for one, none in pairs)

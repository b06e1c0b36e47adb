"""Every op in every variant through the fixture of pytest-benchmark: calls of a `tf.function`, float32, on the CPU.

A combination that cannot be is skipped with its reason; one whose values or gradients are wrong fails.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from pyopbench.worker.suite_api import (
    DIRECTIONS,
    Axes,
    Case,
    Op,
    Prepared,
    Unsupported,
    __version__,
    calibrate,
    describe_error,
    load_ops,
    load_variants,
    machine,
    make_plan,
    measure_timer,
    prepare,
    software,
)

TRIAL_SECONDS = 0.002
"""About how long a backward pass is tried, to know how many of them fit into the time of a case."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each case, and one that is skipped of each combination that cannot be."""
    option = metafunc.config.option
    metafunc.parametrize("case", list(_parameters(option.sizes, option.directions or DIRECTIONS)))


def _parameters(sizes: str | tuple[int, ...], directions: tuple[str, ...]) -> Iterator[Any]:
    variants = load_variants()
    for op in load_ops().values():
        axes = Axes(ops=(op.name,), directions=directions, modes=("call",), sizes=_sizes(op, sizes))
        plan = make_plan(axes, {op.name: op}, variants)
        yield from (pytest.param(case, id=_name(case)) for case in plan.cases)
        for skip in plan.skips:
            case = Case.from_id(skip.case)
            yield pytest.param(case, id=_name(case), marks=pytest.mark.skip(reason=skip.reason))


def _sizes(op: Op, chosen: str | tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(chosen, str):
        return op.sizes
    return chosen or (op.quick_sizes[len(op.quick_sizes) // 2],)


def _name(case: Case) -> str:
    return f"{case.op}-{case.variant}-{case.direction}-{case.size}"


@pytest.fixture(scope="session")
def snapshot() -> Mapping[str, Any]:
    """Return what a run of pyopbench stores of the machine and of TensorFlow."""
    return {**machine(), **software()}


def test_latency(benchmark: Any, case: Case, snapshot: Mapping[str, Any], pytestconfig: pytest.Config) -> None:
    """Time one case."""
    benchmark.group = f"{case.op}, size {case.size}, {case.direction}"
    benchmark.extra_info.update(case=case.id, environment=dict(snapshot), pyopbench=__version__)
    try:
        prepared = prepare(case)
    except Unsupported as error:
        pytest.skip(describe_error(error))
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

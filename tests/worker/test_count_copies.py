"""Copies of a few calls on the simulated device, worked out by hand."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from pyopbench.engine.worker_process import Worker
from pyopbench.model.case import SIMULATED, Case

TIMEOUT_SECONDS = 300.0

pytestmark = [
    pytest.mark.usefixtures("kernels"),
    pytest.mark.skipif(
        not any(map(shutil.which, ("g++", "c++", "clang++"))), reason="the simulated device needs a C++ compiler"
    ),
]

NONE, ONE = [0, 0], [1, 40]
"""Copies and bytes; an array of ten float32 is 40 bytes."""


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker(TIMEOUT_SECONDS) as one:
        answer = one.ask({"do": "device", "placement": SIMULATED})
        if answer["reason"]:
            pytest.skip(f"no simulated device: {answer['reason']}")
        yield one


def count(worker: Worker, variant: str, *, op: str = "identity", mode: str = "call") -> dict[tuple[str, str], Any]:
    """Return copies up and down, with bytes, by where inputs are and where the result is used."""
    case = Case(op, variant, "none", "forward", mode, "float32", 10, SIMULATED)
    answer = worker.ask({"do": "count_copies", "case": case.id})
    assert "failure" not in answer, answer
    assert not any(row["varies"] for row in answer["rows"])
    return {(row["inputs"], row["result"]): (row["to_device"], row["to_host"]) for row in answer["rows"]}


@pytest.mark.parametrize("mode", ["eager", "call"])
@pytest.mark.parametrize("variant", ["native", "custom_op"])
def test_a_kernel_copies_only_what_is_elsewhere(worker: Worker, variant: str, mode: str) -> None:
    """It computes on the device: up what comes from the host, down what is used there, and nothing else."""
    for (inputs, result), ways in count(worker, variant, op="sinh", mode=mode).items():
        assert ways == (ONE if inputs == "host" else NONE, ONE if result == "host" else NONE)


def test_a_callback_takes_inputs_down_and_its_result_is_left_on_the_device(worker: Worker) -> None:
    """Where nothing is pinned, TensorFlow has the result on the device, also if everything else is on the host."""
    two = [2, 80]
    ways = count(worker, "numpy_function")
    assert ways == {
        ("host", "host"): (ONE, ONE),
        ("host", "device"): (ONE, NONE),
        ("device", "host"): (ONE, two),
        ("device", "device"): (ONE, ONE),
    }


def test_every_route_is_counted_once_and_the_same_every_time(worker: Worker) -> None:
    first = count(worker, "py_function_numpy")
    assert len(first) == 4
    assert count(worker, "py_function_numpy") == first


def test_a_wrong_result_is_a_failure_and_not_a_count(worker: Worker) -> None:
    case = Case("identity", "no_such_variant", "none", "forward", "call", "float32", 10, SIMULATED)
    assert worker.ask({"do": "count_copies", "case": case.id})["failure"]["status"] == "raised"

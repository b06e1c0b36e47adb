"""Copies of a few calls, worked out by hand, and the whole table of an op as the command once wrote it.

A golden file is made by the command itself: `pyopbench placement sinh --tf VERSION --out
tests/data/golden/placement-VERSION.json`. It is not what is right but what TensorFlow does from that version on, up to
the next that there is a file of; a newer one that copies otherwise is seen by it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import pytest
import tensorflow as tf

from places import DATA
from pyopbench.engine import copies
from pyopbench.engine.copies import CountRequest
from pyopbench.engine.environments import available
from pyopbench.engine.worker_process import Worker
from pyopbench.model.case import SIMULATED, Case
from pyopbench.store import counted_copies

GOLDEN = DATA / "golden"
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


def count(worker: Worker, variant: str, mode: str, pinned: str, *, op: str = "identity") -> dict[tuple[str, str], Any]:
    """Return the forward rows by where inputs are and where the result is used."""
    case = Case(op, variant, "none", "forward", mode, "float32", 10, SIMULATED)
    answer = worker.ask({"do": "count_copies", "case": case.id, "pinned": pinned})
    assert "failure" not in answer, answer
    assert answer["arrays"] == {"inputs": 40, "outputs": 40, "output_gradients": 40, "input_gradients": 40}
    return {(row["inputs"], row["result"]): row for row in answer["rows"]}


def ways(row: dict[str, Any], state: str = "fresh") -> tuple[list[int], list[int]]:
    return row[state]["to_device"], row[state]["to_host"]


@pytest.mark.parametrize("mode", ["eager", "call"])
def test_a_pass_through_on_the_device_with_all_data_there_copies_nothing(worker: Worker, mode: str) -> None:
    """The body gets a tensor on the device and hands it back: neither Python nor the bridge looks at its numbers."""
    row = count(worker, "py_function", mode, "device")["device", "device"]
    assert ways(row) == ways(row, "warm") == (NONE, NONE)
    assert row["outputs_on"] == ["device"]


@pytest.mark.parametrize("mode", ["eager", "call"])
@pytest.mark.parametrize("variant", ["native", "custom_op"])
def test_a_kernel_copies_only_what_is_elsewhere(worker: Worker, variant: str, mode: str) -> None:
    """Pinned to the device: up what comes from the host, down what is used there, and nothing else."""
    rows = count(worker, variant, mode, "device", op="sinh")
    for (inputs, result), row in rows.items():
        assert ways(row) == (ONE if inputs == "host" else NONE, ONE if result == "host" else NONE)


def test_a_graph_callback_on_the_host_takes_down_and_up_what_lives_on_the_device(worker: Worker) -> None:
    rows = count(worker, "numpy_function", "call", "host")
    assert ways(rows["host", "host"]) == (NONE, NONE)
    assert ways(rows["device", "host"]) == (NONE, ONE)
    assert ways(rows["host", "device"]) == (ONE, NONE)
    assert ways(rows["device", "device"]) == (ONE, ONE)


def test_an_ndarray_that_a_body_on_the_host_returns_goes_by_the_device_and_the_remedy_keeps_it(worker: Worker) -> None:
    """Everything is on the host, and so nothing has to be copied."""
    bounced = count(worker, "py_function_numpy", "call", "host")["host", "host"]
    kept = count(worker, "py_function_numpy_host", "call", "host")["host", "host"]
    assert ways(bounced) == (ONE, ONE)
    assert ways(kept) == (NONE, NONE)
    assert bounced["outputs_on"] == kept["outputs_on"] == ["host"]


def test_an_eager_tensor_is_copied_up_once_and_then_kept(worker: Worker) -> None:
    row = count(worker, "native", "eager", "device", op="sinh")["host", "device"]
    assert ways(row, "fresh") == (ONE, NONE)
    assert ways(row, "warm") == (NONE, NONE)


def known_for(version: str) -> dict[str, Any]:
    """Return the golden file that holds for a version of TensorFlow: the last that is not of a newer one."""
    files = {path.stem.removeprefix("placement-"): path for path in GOLDEN.glob("placement-*.json")}
    older = [one for one in files if numbers(one) <= numbers(version)]
    if not older:
        pytest.skip(f"no golden file for TensorFlow {version}")
    return counted_copies.read(files[max(older, key=numbers)])


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall("[0-9]+", version)[:3]]


@pytest.mark.parametrize("other", [None, *(version for version in available() if version != tf.__version__)])
def test_the_table_of_an_op_is_what_tensorflow_is_known_for(other: str | None) -> None:
    """Two commands have to write the same bytes, or else the golden file would not hold."""
    if other is not None and "PYOPBENCH_EVERY_VERSION" not in os.environ:
        pytest.skip("a minute for each version: make versions")
    axes = replace(copies.EVERYTHING, ops=("sinh",))
    found = copies.count(CountRequest(axes, "simulated", TIMEOUT_SECONDS, other), lambda done, total: None)
    assert other in (None, found["tensorflow"])
    assert not found["failures"]
    known = known_for(found["tensorflow"])
    assert known["rows"]
    there = {Case.from_id(row["case"]).variant for row in found["rows"]}
    assert there == set(known["variants"]) - (set() if find_spec("numba") else {"numba"})
    assert found["rows"] == [row for row in known["rows"] if Case.from_id(row["case"]).variant in there]

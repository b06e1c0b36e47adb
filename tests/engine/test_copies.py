"""Counting goes on where a worker hangs or dies, and what cannot be counted is told; by workers that count nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commands import CRASHED
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import copies, worker_process
from pyopbench.engine.copies import EVERYTHING, CountRequest
from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput, NothingMeasured, WorkerLost
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps, Target
from pyopbench.store import counted_copies

ARRAYS = {"inputs": 40, "outputs": 40, "output_gradients": 40, "input_gradients": 40}


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Count variants that behave as they are named, by the fake worker."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))

    def run(*variants: str, device: str = "simulated", sizes: tuple[int, ...] = (10,)) -> dict[str, Any]:
        cases = [
            Case("sinh", name, "none", "forward", "call", "float32", size).id for name in variants for size in sizes
        ]
        kinds = {name: {"kind": "callback", "body": "numpy"} for name in variants}
        catalogue = {"ops": {"sinh": {"size_unit": "elements"}}, "variants": kinds}
        environment = {"tensorflow": "2.21.0", "numpy": "2.4.6", "python": "3.11.7", "load": [1.0]}
        skips = [{"case": Case("sinh", "xla", "none", "forward", "eager", "float32", 10).id, "reason": "no"}]
        plan = {"cases": cases, "skips": skips, "catalogue": catalogue, "environment": environment}
        (tmp_path / "plan").write_text(json.dumps(plan), encoding="utf-8")
        return copies.count(CountRequest(EVERYTHING, device, 1.0), lambda done, total: None)

    return run


def variants_of(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(Case.from_id(row["case"]).variant for row in rows))


def test_a_worker_that_dies_or_hangs_costs_what_it_was_at_and_the_rest_is_counted(
    count: Callable[..., dict[str, Any]],
) -> None:
    found = count("well", "crashing", "hanging", "raising", "last")
    assert variants_of(found["rows"]) == ["well", "last"]
    assert len(found["rows"]) == 2 * 3 * 4  # pinnings, routes
    told = {(Case.from_id(one["case"]).variant, one["status"]) for one in found["failures"]}
    assert told == {("crashing", "crashed"), ("hanging", "timeout"), ("raising", "raised")}
    assert len(found["failures"]) == 3 * 3
    assert "SIGSEGV" in next(one["reason"] for one in found["failures"] if one["status"] == "crashed")


def test_a_worker_that_does_not_start_again_leaves_what_was_counted(
    count: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    not_started = "the worker process did not start: ended by signal SIGKILL"

    def start(*arguments: Any, **how: Any) -> worker_process.Worker:
        started.append(arguments)
        if len(started) > 1:
            raise WorkerLost(not_started)
        return worker_process.Worker(*arguments, **how)

    monkeypatch.setattr(copies, "Worker", start)
    found = count("well", "crashing", "last")
    assert variants_of(found["rows"]) == ["well"]
    reasons = [one["reason"] for one in found["failures"]]
    assert reasons == [CRASHED, *[not_started] * (2 + 3)], "the crash, the rest of that variant, the last one"


def test_cases_are_on_the_simulated_device_and_of_one_size(count: Callable[..., dict[str, Any]]) -> None:
    found = count("well", sizes=(1, 10))
    cases = {Case.from_id(row["case"]) for row in found["rows"]}
    assert {(case.placement, case.size) for case in cases} == {("simgpu", 10)}
    assert found["ops"]["sinh"]["arrays"] == ARRAYS
    assert found["holes"] == [{"case": "sinh/xla/none/forward/eager/float32/10/cpu", "reason": "no"}]
    assert "load" not in found


@pytest.mark.parametrize("behaviour", ["g++ refuses simulated_device.cc", "crashing"])
def test_without_the_device_nothing_is_counted_and_the_reason_told(
    count: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch, behaviour: str
) -> None:
    monkeypatch.setenv("FAKE_WORKER_DEVICE", behaviour)
    with pytest.raises(NothingMeasured) as error:
        count("well")
    assert ("SIGKILL" if behaviour == "crashing" else behaviour) in str(error.value)


def test_asking_for_a_gpu_where_there_is_none_names_the_devices(
    count: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORKER_DEVICE", "TensorFlow sees no GPU")
    with pytest.raises(BadInput) as error:
        count("well", device="gpu")
    assert error.value.exit_code == 2
    assert "CPU:0" in str(error.value)


def test_what_is_written_is_read_back_and_the_same_every_time(
    count: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    found = count("well", "raising")
    counted_copies.write(tmp_path / "new" / "a.json", found)
    counted_copies.write(tmp_path / "b.json", count("well", "raising"))
    assert (tmp_path / "new" / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert counted_copies.read(tmp_path / "b.json") == found


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": 1}', '{"schema": 1, "rows": [{}]}', "nothing", '"x"'])
def test_a_file_of_another_kind_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "placement.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(BadInput) as refused:
        counted_copies.read(path)
    assert refused.value.hint == f"create it again: pyopbench placement --out {path}"


def test_another_schema_is_told(count: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    counted_copies.write(tmp_path / "placement.json", {**count("well"), "schema": 2})
    with pytest.raises(BadInput) as refused:
        counted_copies.read(tmp_path / "placement.json")
    assert refused.value.received == "schema 2"


def test_a_remedy_is_counted_beside_what_it_mends() -> None:
    chosen = copies._with_remedies(replace(EVERYTHING, variants=("py_function_numpy",)), NO_OWN_OPS)
    assert chosen.variants == ("py_function_numpy", "py_function_numpy_host")
    assert "native" in copies._with_remedies(EVERYTHING, NO_OWN_OPS).variants


def test_own_ops_are_counted_at_sizes_of_their_own() -> None:
    own = OwnOps((Target("mine", "mine.py"),))
    everything = replace(copies.EVERYTHING, ops=("mine",))
    assert copies.with_own_sizes(everything, own) == replace(everything, sizes=(), quick=True)
    for axes in (replace(everything, ops=("mine", "sinh")), replace(everything, sizes=(5,)), copies.EVERYTHING):
        assert copies.with_own_sizes(axes, own) == axes

"""Counting goes on where a worker hangs or dies, and what cannot be counted is reported; by fake workers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from commands import CRASHED
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import placement, worker_process
from pyopbench.engine.placement import EVERYTHING
from pyopbench.model.case import Case, Failure
from pyopbench.model.errors import BadInput, NothingMeasured, WorkerLost


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """Count variants that behave as they are named, by the fake worker."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))

    def run(*variants: str, device: str = "simulated", sizes: tuple[int, ...] = (10,)) -> dict[str, Any]:
        cases = [
            Case("sinh", name, "none", "forward", "call", "float32", size).id for name in variants for size in sizes
        ]
        environment = {"tensorflow": "2.21.0", "numpy": "2.4.6", "python": "3.11.7"}
        skips = [Failure(Case("sinh", "xla", "none", "forward", "call", "float32", 1).id, "unsupported", "no")]
        plan = {"cases": cases, "skips": list(map(asdict, skips)), "catalogue": {}, "environment": environment}
        (tmp_path / "plan").write_text(json.dumps(plan), encoding="utf-8")
        return placement.count(replace(EVERYTHING, variants=(*variants, "xla")), device, lambda done, total: None)

    return run


def variants_of(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["variant"] for row in rows))


def test_a_worker_that_dies_costs_what_it_was_at_and_the_rest_is_counted(count: Callable[..., dict[str, Any]]) -> None:
    found = count("well", "crashing", "raising", "last", sizes=(1, 10))
    assert variants_of(found["rows"]) == ["well", "last"]
    assert len(found["rows"]) == 2 * 4  # routes, at one size
    statuses = {(one["variant"], one["status"]) for one in found["failures"]}
    assert statuses == {("crashing", "crashed"), ("raising", "raised"), ("xla", "unsupported")}


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

    monkeypatch.setattr(placement, "Worker", start)
    found = count("well", "crashing", "last")
    assert variants_of(found["rows"]) == ["well"]
    assert [one["reason"] for one in found["failures"][1:]] == [CRASHED, not_started]


@pytest.mark.parametrize("behaviour", ["g++ refuses simulated_device.cc", "crashing"])
def test_without_the_device_nothing_is_counted_and_the_reason_is_given(
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
    assert "CPU:0" in str(error.value)

"""Every batched form has a finding, whatever happens to the worker in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from places import FAKE_WORKER_COMMAND
from pyopbench.engine import worker_process
from pyopbench.engine.verify_batched import BatchedFinding, verify_batched
from pyopbench.model.case import Axes
from pyopbench.model.errors import BadInput

LONG = 60.0


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the worker, which checks nothing (fake_worker.py), keeps its requests."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def verify(monkeypatch: pytest.MonkeyPatch, *forms: str, told: list[Any] | None = None) -> list[BatchedFinding]:
    monkeypatch.setenv("FAKE_WORKER_FORMS", json.dumps([["double", form] for form in forms]))
    seen = [] if told is None else told
    return verify_batched(Axes(ops=("double",)), 8, LONG, lambda done, total: seen.append((done, total)))


def test_every_form_has_a_finding_in_order(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    told: list[tuple[int, int]] = []
    found = verify(monkeypatch, "numpy_loop", "wrong", "crashing", "impossible", "well", told=told)
    assert [one.form for one in found] == ["numpy_loop", "wrong", "crashing", "impossible", "well"]
    assert [one.outcome for one in found] == ["right", "wrong", "crashed", "cannot", "right"]
    assert told == [(done, 5) for done in range(5)]
    asked = [request for request in map(json.loads, log.read_text().splitlines()) if request["do"] == "batched"]
    assert {request["batch"] for request in asked} == {8}
    assert found[1].reason.startswith("output 0 differs")
    assert json.loads(json.dumps(found[0].as_dict()))["checked"]["values"] == 0.25


def test_a_wrong_form_is_the_ops_and_a_wrong_loop_or_a_lost_worker_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verify(monkeypatch, "wrong", "impossible", "crashing", "well")
    assert [one.is_broken for one in found] == [False, False, True, False]
    loop = BatchedFinding("double", "float32", 1, "numpy_loop", 8, "wrong", "no")
    assert loop.is_broken


def test_where_there_is_no_form_that_is_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput) as refused:
        verify(monkeypatch)
    assert refused.value.received == "ops=double, dtypes=float32"

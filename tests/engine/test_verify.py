"""Values and gradients are checked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stored
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import worker_process
from pyopbench.engine.verify import EVERYTHING
from pyopbench.engine.verify import verify as verify_all
from pyopbench.model.case import Axes, Case


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the worker, which checks nothing (fake_worker.py), finds its plan and keeps its requests."""
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setenv("FAKE_WORKER_PLAN", str(tmp_path / "plan"))
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    return tmp_path


def plan(folder: Path, *cases: str, **op: Any) -> None:
    catalogue = {"ops": {"double": {**stored.OP, **op}}, "variants": {}, "gradients": {}}
    skips = [stored.failure(stored.case("xla"), "unsupported", None)]
    (folder / "plan").write_text(json.dumps({"cases": cases, "skips": skips, "catalogue": catalogue}), encoding="utf-8")


def requests(folder: Path, do: str) -> list[dict[str, Any]]:
    lines = (folder / "log").read_text(encoding="utf-8").splitlines()
    return [request for request in map(json.loads, lines) if request["do"] == do]


def verify(axes: Axes = EVERYTHING) -> list[tuple[str, str | None]]:
    """Return the case and the status of the failure of every finding."""
    findings = verify_all(axes)[0]
    return [(finding.case, finding.failure.status if finding.failure else None) for finding in findings]


def backward(variant: str, size: int = 1, gradient: str = "custom_gradient") -> str:
    return Case("double", variant, gradient, "backward", "call", "float32", size).id


def test_every_case_has_a_finding_in_the_order_of_the_plan(folder: Path) -> None:
    names = ("well", "crashing", "wrong", "raising", "exiting", "impossible", "torn", "well_too")
    plan(folder, *map(stored.case, names))
    statuses = (None, "crashed", "wrong", "raised", "crashed", "unsupported", "crashed", None)
    assert verify() == list(zip(map(stored.case, names), statuses, strict=True))
    assert len(requests(folder, "verify")) == len(names)


def test_a_variant_that_was_named_and_has_no_case_has_a_finding(folder: Path) -> None:
    plan(folder, stored.case("well"))
    named = replace(EVERYTHING, variants=("well", "xla"))
    assert verify(named) == [(stored.case("xla"), "unsupported"), (stored.case("well"), None)]


def test_a_forward_case_is_left_to_the_backward_case_that_checks_its_values(folder: Path) -> None:
    plan(folder, stored.case("well"), backward("well"))
    assert verify() == [(backward("well"), None)]


def test_the_two_smallest_quick_sizes_are_verified(folder: Path) -> None:
    plan(folder, *(stored.case("well", size=size) for size in (1, 10, 100)), quick_sizes=[1, 10, 100])
    assert verify() == [(stored.case("well", size=size), None) for size in (1, 10)]


def test_finite_differences_are_asked_for(folder: Path) -> None:
    plan(folder, backward("well", 10), quick_sizes=[1, 10])
    verify()
    assert [request["finite_differences"] for request in requests(folder, "verify")] == [True]


def test_what_is_required_is_tried_with_what_is_verified(folder: Path) -> None:
    plan(folder, stored.case("well"), backward("well", gradient="override_map"))
    made = json.loads((folder / "plan").read_text(encoding="utf-8"))
    variants = {"well": {"gradients": ["custom_gradient", "override_map"]}}
    made["catalogue"]["variants"] = variants
    (folder / "plan").write_text(json.dumps(made), encoding="utf-8")
    found = verify_all(EVERYTHING, ["xla", "second_order"])[1]
    assert [(one.requirement, one.label, one.status) for one in found] == [
        ("xla", "well", "works"),
        ("second_order", "well", "works"),
        ("second_order", "well+override_map", "works"),
    ]

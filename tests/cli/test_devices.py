"""`--axis device=cpu,gpu` measures both in one run, and reports where to run each op, also after an interrupt."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import stored
from commands import Call

VARIANTS = ("py_function_numpy", "native")
SECONDS = {"py_function_numpy/cpu": 0.5, "native/cpu": 0.25, "py_function_numpy/gpu": 0.75, "native/gpu": 0.125}


@pytest.fixture
def both(planned: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Plan cases on both devices, of which each takes a time of its own, and return their ids."""
    cases = [stored.case(variant, placement=place) for place in ("cpu", "gpu") for variant in VARIANTS]
    planned("native", cases=cases)
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("FAKE_WORKER_SECONDS", json.dumps(SECONDS))
    return cases


WORDS = ("--launches", 3)


def require_answers(folder: Path, cases: list[str]) -> None:
    lines = stored.read_lines(folder)
    launches = {case: set[int]() for case in cases}
    for line in (line for line in lines if line["kind"] == "group"):
        for case in line["samples"]:
            launches[case].add(line["launch"])
    assert min(len(found) for found in launches.values()) >= 3
    assert not [failure for line in lines for failure in line.get("failures", ())]
    (found,) = json.loads((folder / "decisions.json").read_text(encoding="utf-8"))["devices"]
    for place, seconds in (("cpu", 0.25), ("gpu", 0.125)):
        assert {"label": "native", "seconds": seconds}.items() <= found[place].items()
    assert found["ratio"] == pytest.approx(0.5)
    assert found["low"] < found["ratio"] < found["high"] < 1
    assert found["device"] == "gpu"
    assert "Where each op should run" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_run_on_both_says_where_to_run_each_op(both: list[str], call: Call, tmp_path: Path) -> None:
    ended = call("run", "double", "--axis", "device=cpu,gpu", *WORDS, "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    asked = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert next(one["axes"]["placements"] for one in asked if one["do"] == "plan") == ["cpu", "gpu"]
    require_answers(tmp_path / "run", both)


def test_a_gpu_that_is_not_there_is_an_error_before_anything_is_measured(
    both: list[str], call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_WORKER_DEVICE", "there is none")
    ended = call("run", "double", "--axis", "device=cpu,gpu", *WORDS, "--out", tmp_path / "run")
    assert ended.code == 2
    assert not (tmp_path / "run").exists()

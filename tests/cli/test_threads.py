"""`--axis threads=` asks for cases that are planned with all others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import stored
from commands import Call
from pyopbench.store.run import SAMPLES_FILE


def cases(*modes: str) -> list[str]:
    return [stored.case(variant, mode=mode) for mode in modes for variant in ("py_function_numpy", "native")]


@pytest.mark.parametrize("more", [(), ("--tf", "2.21.0")])
def test_calls_from_threads_are_measured_with_all_other_cases_on_any_side(
    more: tuple[str, ...],
    call: Call,
    planned: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modes = ("node", "threads:1", "threads:4")
    planned("native", cases=cases(*modes))
    monkeypatch.setenv("FAKE_WORKER_LOG", str(tmp_path / "log"))
    monkeypatch.setattr("pyopbench.engine.environments.python_of", lambda environment: None)
    monkeypatch.setattr("pyopbench.engine.environments.missing", lambda asked: [])
    words = ("--axis", "threads=1,4", "--launches", 2, *more)
    ended = call("run", "double", *words, "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    first = json.loads((tmp_path / "log").read_text(encoding="utf-8").splitlines()[0])
    assert first["axes"]["threads"] == [1, 4]
    lines = stored.read_lines(next(tmp_path.glob("run/**/" + SAMPLES_FILE)).parent)
    sampled = {case for line in lines if line["kind"] == "group" for case in line["samples"]}
    assert sampled == set(cases(*modes))
    (report,) = tmp_path.glob("run/**/report.md")
    assert "Calls from several threads" in report.read_text(encoding="utf-8")

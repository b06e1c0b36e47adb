"""Runs on several versions of TensorFlow and over revisions, from Python: what the command line would come to."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyopbench
import stored
from commands import Call, call, planned
from op_projects import project
from pairs import cases
from pyopbench.api.results import SidesResult
from pyopbench.engine import environments
from pyopbench.model.errors import BadInput, Interrupted
from refusals import refused
from repositories import commit
from revision_runs import DIFFERENT, write_revisions

__all__ = ["call", "planned", "project"]
QUIET: dict[str, Any] = {"launches": 3, "quick": True, "progress": False}
KEYS = cases(ops=("double",))
X = np.ones(3, np.float32)


def body(x: Any) -> Any:
    return x


def closed() -> Callable[[Any], Any]:
    def double(x: Any) -> Any:
        return x + x

    return double


@pytest.fixture
def two_versions(monkeypatch: pytest.MonkeyPatch, planned: Callable[..., None], tmp_path: Path) -> Path:
    """Return a folder for a run on two versions, which are this Python's, both of them."""
    monkeypatch.setattr(environments, "python_of", lambda version: Path(sys.executable))
    planned("well")
    return tmp_path / "run"


def test_versions_are_measured_and_compared_as_by_the_command_line(two_versions: Path, call: Call) -> None:
    result = pyopbench.run(body, [X], tf=["2.21.0", "2.21.0"], out=two_versions, **QUIET)
    assert isinstance(result, SidesResult)
    assert list(result.runs) == ["2.21.0", "2.21.0-2"]
    assert len({result.runs[label].decisions["answer"].iloc[0] for label in result.runs}) == 1
    assert not result.comparisons["2.21.0-2"].verdicts.empty
    assert result.report() == two_versions
    written = (two_versions / "2.21.0" / "report.md").read_text(encoding="utf-8")
    compared = (two_versions / "compare-2.21.0-2.21.0-2.md").read_text(encoding="utf-8")
    ended = call("report", two_versions)
    assert ended.code == 0, ended.err
    assert (two_versions / "2.21.0" / "report.md").read_text(encoding="utf-8") == written
    assert (two_versions / "compare-2.21.0-2.21.0-2.md").read_text(encoding="utf-8") == compared


def test_a_stored_run_on_versions_is_read_shown_and_compared(two_versions: Path) -> None:
    pyopbench.run(body, [X], tf=["2.21.0", "2.21.0"], out=two_versions, **QUIET)
    read = pyopbench.read(two_versions)
    assert isinstance(read, SidesResult)
    assert "2.21.0-2" in repr(read)


def test_an_interrupted_run_on_versions_names_the_command_that_resumes_it(
    two_versions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyopbench.engine.run.measure", interrupt)
    with pytest.raises(Interrupted) as interrupted:
        pyopbench.run(body, [X], tf=["2.21.0", "2.21.0"], out=two_versions, **QUIET)
    (own,) = stored.sides_of(two_versions)[0].own.values()
    command = shlex.join(["pyopbench", "resume", str(two_versions), *own.words])
    assert str(interrupted.value.hint).startswith(command)


def test_revisions_are_measured_and_fail_as_by_the_command_line(project: Path, call: Call, tmp_path: Path) -> None:
    commit(project, {"seconds": "0.55"}, "slower by a tenth", day=3)
    folder = tmp_path / "run"
    more = {**QUIET, "launches": 4}
    result = pyopbench.run("mine.py", rev=["HEAD~1", "HEAD"], fail_on="slower:5%", out=folder, **more)
    assert isinstance(result, SidesResult)
    assert result.outcome == "failed"
    assert len(result.comparisons["HEAD"].slower(0.05)) == 2
    assert list(result.runs) == ["HEAD~1", "HEAD"]
    result.report()
    written = json.loads((folder / "gate.json").read_text(encoding="utf-8"))
    assert written["comparisons"]["HEAD"]["minimum_effect"] == pytest.approx(0.05 / 3, abs=1e-6)
    assert call("report", folder, "--fail-on", "slower:5%").code == 1
    assert json.loads((folder / "gate.json").read_text(encoding="utf-8"))["slower"] == written["slower"]


def test_a_stored_run_over_revisions_is_read_and_shown(tmp_path: Path) -> None:
    write_revisions(tmp_path / "run", {}, {KEYS[1]: 1.3}, keys=KEYS, different={1: DIFFERENT})
    read = pyopbench.read(tmp_path / "run", fail_on="slower:10%")
    assert isinstance(read, SidesResult)
    assert read.outcome == "failed"
    assert list(read.comparisons["r1"].slower()["case"]) == [KEYS[1]]
    assert "r1" in repr(read)


def test_a_function_of_a_script_has_no_revisions(tmp_path: Path) -> None:
    with refused("a function of a notebook or a script has no revisions"):
        pyopbench.run(closed(), [X], rev=["HEAD"], out=tmp_path / "run")


@pytest.mark.parametrize(
    ("asked", "received"),
    [
        ({"tf": ["2.21.0"], "fail_on": "slower"}, "--fail-on slower"),
        ({"packages": ["numpy"]}, "--with numpy"),
        ({"fail_on": "slower"}, "--fail-on slower"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_done(
    asked: dict[str, Any], received: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as caught:
        pyopbench.run("relu", out=tmp_path / "run", **asked)
    assert caught.value.received == received
    assert not (tmp_path / "run").exists()

"""Runs on several versions of TensorFlow and over revisions, from Python: what the command line would come to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyopbench
from commands import Call, call, planned
from op_projects import project
from pairs import cases
from pyopbench.api.results import SidesResult
from pyopbench.engine import environments
from pyopbench.model.errors import BadInput
from revision_runs import DIFFERENT, write_revisions

__all__ = ["call", "planned", "project"]
QUIET: dict[str, Any] = {"launches": 3, "quick": True, "progress": False}
KEYS = cases(ops=("double",))
X = np.ones(3, np.float32)


def body(x: Any) -> Any:
    return x


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
    assert "2.21.0-2" in repr(pyopbench.read(two_versions))


def test_a_stored_run_over_revisions_is_read_and_shown(tmp_path: Path) -> None:
    write_revisions(tmp_path / "run", {}, {KEYS[1]: 1.3}, keys=KEYS, different={1: DIFFERENT})
    read = pyopbench.read(tmp_path / "run", fail_on="slower:10%")
    assert isinstance(read, SidesResult)
    assert read.outcome == "failed"
    verdicts = read.comparisons["r1"].verdicts
    assert list(verdicts["case"][verdicts["outcome"] == "slower"]) == [KEYS[1]]
    assert list(read.runs) == ["r0", "r1"]
    assert "r1" in repr(read)


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

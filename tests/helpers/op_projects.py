"""A repository of an op with two commits, for tests of runs over revisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import stored
from pyopbench.engine import plan
from repositories import commit, repository


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planned: Callable[..., None]) -> Path:
    """Return a repository with an op whose second commit does the same; the current folder is in it."""
    cases = [stored.case(variant, "mine") for variant in ("py_function_numpy", "well")]
    planned(cases=cases, catalogue=stored.run(cases)["catalogue"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(plan, "require_known", lambda *_: None)  # the fake worker's variants are in no folder
    folder = repository(tmp_path / "project")
    commit(folder, {"mine.py": "OP = None\n", "value": "1"}, "first", day=1)
    commit(folder, {"note": ""}, "second", day=2)
    monkeypatch.chdir(folder)
    return folder

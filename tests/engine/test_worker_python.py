"""The Python of a worker: this one as it is, another with a path to pyopbench, and what to try if it does not start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pyopbench.engine import worker_python

USUAL = ("python", "-m", "pyopbench.worker")
OTHER = Path("/environments/2.16.2/bin/python")


def test_this_python_is_started_as_usual() -> None:
    assert worker_python.command(USUAL, None) == USUAL
    assert worker_python.variables(None) == {}
    assert worker_python.remedy(None) != worker_python.remedy(OTHER)


def test_another_python_runs_the_same_module_and_finds_pyopbench_before_what_is_on_the_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/mine")
    assert worker_python.command(USUAL, OTHER) == (str(OTHER), *USUAL[1:])
    first, last = worker_python.variables(OTHER)["PYTHONPATH"].split(os.pathsep)
    assert [path.name for path in Path(first).iterdir()] == ["pyopbench"]
    assert last == "/mine"
    assert str(OTHER) in worker_python.remedy(OTHER)

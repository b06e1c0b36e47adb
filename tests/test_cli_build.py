"""What is compiled is listed, what is refused is told with the reason, and only that makes it fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pyopbench import launch
from pyopbench.cli import app


@pytest.fixture(autouse=True)
def _fake_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "COMMAND", (sys.executable, str(Path(__file__).parent / "fake_worker.py")))


def test_libraries_are_listed_with_their_folder() -> None:
    done = CliRunner().invoke(app, ["build", "sinh", "determinant"])
    assert done.exit_code == 0
    assert "sinh-1.so" in done.stdout
    assert "in /cache" in done.stdout
    assert "has no kernel" in done.stdout


def test_a_refused_kernel_is_exit_code_1_with_its_reason() -> None:
    done = CliRunner().invoke(app, ["build", "sinh", "log"])
    assert done.exit_code == 1
    assert "refused: g++ refuses log.cc" in done.stdout
    assert "sinh-1.so" in done.stdout


def test_the_answer_is_there_as_json() -> None:
    done = CliRunner().invoke(app, ["build", "log", "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout) == {"libraries": {}, "reasons": {"log": "g++ refuses log.cc"}, "without": []}

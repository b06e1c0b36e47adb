"""What is compiled is listed, what is refused is told with the reason, and only that makes it fail."""

from __future__ import annotations

import json
import sys

import pytest
from typer.testing import CliRunner

from places import FAKE_WORKER
from pyopbench.cli.app import app
from pyopbench.run import worker_process


@pytest.fixture(autouse=True)
def _fake_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", (sys.executable, str(FAKE_WORKER)))


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
    answer = json.loads(done.stdout)
    assert answer.pop("gpu") == {"libraries": {}, "reasons": {}, "without": ["log"], "reason": "there is no nvcc"}
    assert answer == {"libraries": {}, "reasons": {"log": "g++ refuses log.cc"}, "without": []}


def test_why_there_are_no_cuda_kernels_is_one_line() -> None:
    done = CliRunner().invoke(app, ["build", "sinh"])
    assert done.exit_code == 0
    assert "no CUDA kernels: there is no nvcc" in done.stdout


def test_a_refused_cuda_kernel_is_exit_code_1_beside_the_library_for_the_cpu() -> None:
    done = CliRunner().invoke(app, ["build", "square"])
    assert done.exit_code == 1
    assert "square-1.so" in done.stdout
    assert "refused: nvcc refuses square.cc" in done.stdout

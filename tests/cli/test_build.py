"""What is compiled is listed, what is refused is told with the reason, and only that makes it fail."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from places import FAKE_WORKER_COMMAND
from pyopbench.cli.app import make_app
from pyopbench.engine import worker_process


@pytest.fixture(autouse=True)
def _fake_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)


def lines_of(printed: str) -> list[str]:
    """Return the lines that say something, with one blank between columns."""
    return [" ".join(line.split()) for line in printed.splitlines() if line.strip()]


def test_libraries_are_listed_with_their_folder_and_why_there_are_no_cuda_kernels() -> None:
    done = CliRunner().invoke(make_app(), ["build", "sinh", "determinant"])
    assert done.exit_code == 0
    assert lines_of(done.stdout) == [
        "Kernels",
        "op library",
        "determinant no kernel",
        "sinh sinh-1.so",
        "in /cache",
        "no CUDA kernels: there is no nvcc",
    ]


def test_a_refused_kernel_is_exit_code_1_with_its_reason() -> None:
    done = CliRunner().invoke(make_app(), ["build", "sinh", "log"])
    assert done.exit_code == 1
    assert lines_of(done.stdout)[2:4] == ["log does not compile: g++ refuses log.cc", "sinh sinh-1.so"]


def test_the_answer_is_there_as_json() -> None:
    done = CliRunner().invoke(make_app(), ["build", "log", "--json"])
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert answer.pop("gpu") == {"libraries": {}, "reasons": {}, "without": ["log"], "reason": "there is no nvcc"}
    assert answer == {"libraries": {}, "reasons": {"log": "g++ refuses log.cc"}, "without": []}


def test_a_refused_cuda_kernel_is_exit_code_1_beside_the_library_for_the_cpu() -> None:
    done = CliRunner().invoke(make_app(), ["build", "square"])
    assert done.exit_code == 1
    assert lines_of(done.stdout) == [
        "Kernels",
        "op library",
        "square square-1.so",
        "CUDA kernels",
        "op library",
        "square does not compile: nvcc refuses square.cc",
        "in /cache",
    ]

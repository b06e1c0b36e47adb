"""What a machine has and lacks: each lack is planted and seen to be found, with all else as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from commands import Call, call
from places import FAKE_WORKER_COMMAND
from pyopbench.engine import doctor, worker_process
from pyopbench.engine.doctor import FOR_REPORTS

__all__ = ["call"]

OF_WORKER = {"C++ kernels", "CUDA kernels", "GPU", "Numba"}
PROGRAMS = {"git": "git version 2.39.5", "uv": "uv 0.13.8", "ruff": "ruff 0.17.5"}


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the machine have everything: a worker that lacks nothing, programs in a folder of their own, known facts."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, version in PROGRAMS.items():
        put(folder / name, f"echo {version}")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(worker_process, "COMMAND", FAKE_WORKER_COMMAND)
    monkeypatch.setattr(doctor.machine, "usable_cores", lambda: frozenset({0, 1}))
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (0.5, 0.0, 0.0))
    has(monkeypatch)
    return folder


def put(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


def has(monkeypatch: pytest.MonkeyPatch, governor: str | None = None, free_bytes: int = 2**40) -> None:
    known = {"cpu": "a processor", "cores": 2, "memory_bytes": 2**33, "os": "a system", "python": "3.11.7"}
    monkeypatch.setattr(doctor.machine, "describe", lambda: {**known, "governor": governor})
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=free_bytes))


def worker_lacks(monkeypatch: pytest.MonkeyPatch, **lacks: Any) -> None:
    monkeypatch.setenv("FAKE_WORKER_LACKS", json.dumps(lacks))


def lacking() -> set[str]:
    """Return the names of what is lacking."""
    return {check.name for check in doctor.examine().lacking}


def test_a_machine_that_has_everything_lacks_nothing() -> None:
    assert lacking() == set()
    assert all(check.found for check in doctor.examine().checks if check.name not in OF_WORKER)


@pytest.mark.parametrize(("program", "name"), [("git", "git"), ("uv", "uv"), ("ruff", "Ruff")])
def test_a_program_that_is_not_there_is_missing(program: str, name: str, programs: Path) -> None:
    (programs / program).unlink()
    assert lacking() == {name}


def test_dask_that_is_not_installed_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(package: str) -> str:
        raise doctor.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(doctor.metadata, "version", version)
    assert "Dask" in lacking()


@pytest.mark.parametrize(("reason", "name"), [("kernels", "C++ kernels"), ("cuda", "CUDA kernels"), ("numba", "Numba")])
def test_what_a_worker_lacks_is_missing_with_its_reason(
    reason: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker_lacks(monkeypatch, why_not={reason: "planted"})
    (check,) = doctor.examine().lacking
    assert (check.name, check.lack) == (name, "planted")


def test_a_gpu_that_tensorflow_does_not_see_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_WORKER_DEVICE", "none")
    assert lacking() == {"GPU"}


@pytest.mark.parametrize("command", ["exit 1", "echo no answer"])
def test_a_worker_that_does_not_start_leaves_what_it_would_say_unknown(
    command: str, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(programs / "broken", command)
    monkeypatch.setattr(worker_process, "COMMAND", (str(programs / "broken"),))
    assert lacking() == {"TensorFlow", *OF_WORKER}


@pytest.mark.parametrize("module", FOR_REPORTS)
def test_a_package_for_reports_that_cannot_be_imported_is_named(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    reports = next(check for check in doctor.examine().checks if check.name == "reports, charts")
    assert module in reports.lack


@pytest.mark.parametrize(
    ("changes", "name"), [({"free_bytes": 2**20}, "cache"), ({"governor": "powersave"}, "frequency")]
)
def test_what_the_machine_lacks_is_missing(changes: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    has(monkeypatch, **changes)
    assert lacking() == {name}


def test_a_busy_machine_is_found(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.os, "getloadavg", lambda: (2.5, 0.0, 0.0))
    assert lacking() == {"quiet now"}
    assert ["2.5" in line for line in call("doctor").out.splitlines() if "quiet now" in line] == [True, True]


def test_the_command_ends_with_0_whatever_is_missing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_lacks(monkeypatch, why_not={"kernels": "planted:kernels", "numba": "planted:numba"})
    ended = call("doctor")
    assert ended.code == 0
    assert all(reason in ended.out for reason in ("planted:kernels", "planted:numba"))
    table = [line for line in ended.out.splitlines()[2:] if line[:1] != "-"]
    assert max(map(len, table)) <= 80
    answer = json.loads(call("doctor", "--json").out)
    assert {one["name"] for one in answer["checks"] if one["lack"]} == {"C++ kernels", "Numba"}
    assert answer["machine"]["cores"] == 2


def test_the_command_works_without_what_it_reports_as_missing() -> None:
    """None of the packages for reports can be imported, nor TensorFlow."""
    blocked = [*FOR_REPORTS, "tensorflow"]
    code = f"import sys; sys.modules.update(dict.fromkeys({blocked})); import pyopbench.engine.doctor"
    subprocess.run([FAKE_WORKER_COMMAND[0], "-c", code], check=True)

"""The lock of a machine: one at a time, let go of however its process ends, and never written to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyopbench.engine import host_lock
from pyopbench.model.errors import BadInput

HOLD = """
import os, sys
from pyopbench.engine import host_lock
with host_lock.held():
    print("held", flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(host_lock.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setenv("PYOPBENCH_HOST", "here")
    monkeypatch.setattr(host_lock, "ATTEMPT_SECONDS", 0.01)
    return tmp_path


def holder_process() -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_whoever_comes_second_waits_until_the_first_is_gone_even_if_it_was_killed() -> None:
    process = holder_process()
    assert not host_lock.is_free()
    told: list[int | None] = []

    def waiting(holder: int | None) -> None:
        told.append(holder)
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()

    with host_lock.held(waiting):
        assert process.wait() == -9
        assert not host_lock.is_free()
    assert told == [process.pid]
    assert host_lock.is_free()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()


def test_a_measurement_within_a_measurement_does_not_wait_for_itself() -> None:
    with host_lock.held(), host_lock.held():
        pass
    assert host_lock.is_free()


def test_nothing_is_written_to_the_file_and_others_may_read_it(folder: Path) -> None:
    with host_lock.held():
        (path,) = folder.iterdir()
    assert path == host_lock.path_of("here")
    assert path.stat().st_size == 0
    assert path.stat().st_mode & 0o444 == 0o444


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_somebody_else_laid_in_its_place_is_not_followed(kind: str, folder: Path) -> None:
    path = host_lock.path_of("here")
    if kind == "link":
        path.symlink_to(folder / "victim")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(BadInput) as raised, host_lock.held():
        pass
    assert str(path) in str(raised.value.received)
    assert not (folder / "victim").exists()


def test_where_the_kernel_tells_nothing_nobody_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(host_lock, "KERNEL_LOCKS", tmp_path / "no such file")
    with host_lock.held():
        assert host_lock.holder(host_lock.path_of("here")) is None

"""The lock of a machine: one at a time, and it ends with its process, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyopbench.model import machine

HOLD = """
import os, sys
from pyopbench.model import machine
with machine.hold_machine():
    print("held", flush=True)
    sys.stdin.readline()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(machine.LOCK_FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def test_whoever_comes_second_waits_until_the_first_is_gone_even_if_it_was_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        waited = []

        def waiting() -> None:
            waited.append(True)
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()

        with machine.hold_machine(waiting):
            assert process.wait() == -9
    assert waited == [True]


def test_measurements_within_a_measurement_and_child_processes_do_not_wait() -> None:
    nested = "from pyopbench.model import machine\nwith machine.hold_machine(waiting=exit): print('in')"
    with machine.hold_machine(), machine.hold_machine():
        done = subprocess.run([sys.executable, "-c", nested], capture_output=True, text=True, check=True)
    assert done.stdout == "in\n"
    assert machine.HELD not in os.environ


def test_other_users_may_read_the_file() -> None:
    with machine.hold_machine():
        pass
    assert machine.lock_path().stat().st_mode & 0o444 == 0o444


def test_a_link_is_not_followed(folder: Path) -> None:
    path = machine.lock_path()
    path.symlink_to(folder / "victim")
    with pytest.raises(OSError, match=path.name), machine.hold_machine():
        pass
    assert not (folder / "victim").exists()

"""`pyopbench pipeline` as a whole: no process stays behind, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from places import ROOT
from processes import LONG, has_ended

pytestmark = [pytest.mark.slow, pytest.mark.long]

OPTIONS = (
    *("--batch", "4", "--parallel", "1,2,3,4,5,AUTOTUNE"),
    *("--launches", "2", "--budget", "100s", "--step-ms", "60000"),
)
"""A step that nothing is too slow for: all arrangements are measured to the end."""


NOTING = """
import os, sys
from pathlib import Path
import numpy as np
from pyopbench import OwnOp


def body(x):
    kind = "pool" if "process" in sys.argv[0] else "worker"
    Path({folder!r}, f"{{kind}}-{{os.getpid()}}").touch()
    return x + np.float32(1)


OP = OwnOp(numpy=body, inputs=lambda size, rng: (rng.random(size, np.float32),), sizes=(4,))
"""
"""A body that notes where it is called, and of which files are written."""


def start(folder: Path) -> subprocess.Popen[str]:
    path = folder / "noting.py"
    path.write_text(NOTING.format(folder=str(folder)), encoding="utf-8")
    command = (sys.executable, "-m", "pyopbench", "pipeline", str(path), *OPTIONS, "--out", str(folder / "run"))
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def processes_of(folder: Path, kind: str) -> list[int]:
    return [int(path.name.removeprefix(f"{kind}-")) for path in folder.glob(f"{kind}-*")]


def eventually(found: Callable[[], Any]) -> Any:
    until = time.monotonic() + LONG
    while time.monotonic() < until:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not come to it")


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child")
def test_no_process_outlives_a_worker_or_a_command_that_is_killed(tmp_path: Path) -> None:
    command = start(tmp_path)
    try:
        pool = eventually(lambda: processes_of(tmp_path, "pool"))
        for pid in pool:
            assert_has_no_named_memory(pid)
        planning, worker = sorted(processes_of(tmp_path, "worker"), key=lambda pid: Path(f"/proc/{pid}").exists())
        assert not Path(f"/proc/{planning}").exists()
        os.kill(worker, signal.SIGKILL)
        assert all(map(has_ended, pool))
        # What was lost was one arrangement: the command goes on with another worker.
        others = eventually(lambda: {*processes_of(tmp_path, "worker")} - {planning, worker})
        pool = eventually(lambda: {*processes_of(tmp_path, "pool")} - {*pool})
    finally:
        command.kill()
        command.communicate()
    assert all(map(has_ended, [*others, *pool, *processes_of(tmp_path, "pool")]))


def assert_has_no_named_memory(pid: int) -> None:
    """Look whether the memory that a process shares is freed with the last process that has it."""
    maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    shared = [line for line in maps if line.split()[1][3] == "s" and ("/dev/shm/" in line or "/tmp/" in line)]
    assert shared
    assert all(line.endswith("(deleted)") for line in shared)

"""`pyopbench pipeline` as a whole, of bodies that misbehave: each costs its form, and no process stays behind."""

from __future__ import annotations

import json
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
from pyopbench.store.run import read_plan

pytestmark = [pytest.mark.slow, pytest.mark.long]

SOURCE = """
import itertools, os, sys, time
from collections import Counter
from pathlib import Path
import numpy as np
from pyopbench import OwnOp
from pyopbench.model.marker import Marker

FOLDER = Path(__file__).parent
BEHAVIOURS = {behaviours!r}
IS_IN_POOL = "process" in sys.argv[0]
CALLS, KEPT = Counter(), []


def note_process():
    (FOLDER / f"{{'pool' if IS_IN_POOL else 'worker'}}-{{os.getpid()}}").touch()


def at():
    # The arrangement that the worker was last at.
    return "pool" if IS_IN_POOL else AT[0].partition("/pipeline:")[2].partition("/")[0]


AT, mark = [""], Marker.set


def note_case(marker, case):
    AT[0] = case
    mark(marker, case)


Marker.set = note_case


def body(x):
    if not CALLS:
        note_process()
    key = at()
    CALLS[key] += 1
    how = BEHAVIOURS.get(key)
    if how == "leak":
        KEPT.append(np.ones(4096))
    if how is None or CALLS[key] < 1000:
        return x + np.float32(1)
    if how == "raise":
        raise ValueError("the thousandth element")
    if how == "hang":
        time.sleep(3600)
    if how == "die":
        os._exit(3)
    if how == "fork" and CALLS[key] == 1000:
        os.fork()
        note_process()
    if how == "shape":
        return x[:1]
    return x + np.float32("nan" if how == "nan" else 1)


OP = OwnOp(numpy=body, inputs=lambda size, rng: (rng.random(size, np.float32),), sizes=(4,))
"""
BEHAVIOURS = {
    "map parallel=2": "raise",
    "map parallel=5": "hang",
    "map parallel=AUTOTUNE": "die",
    "map parallel=4": "fork",
    "map parallel=3": "leak",
}
"""Arrangement -> what its body does from the thousandth call on."""
HARMLESS = ("map", "map parallel=4", "map parallel=3")
"""What is measured: the others, and what forks or leaks, whose values are right."""
OPTIONS = (
    "--batch",
    "4",
    "--parallel",
    "1,2,3,4,5,AUTOTUNE",
    "--launches",
    "2",
    "--budget",
    "100s",
    "--step-ms",
    "60000",
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


def start(folder: Path, source: str, *options: str) -> subprocess.Popen[str]:
    options = ("--out", str(folder / "run"), *options)
    path = folder / "hostile.py"
    path.write_text(source, encoding="utf-8")
    command = (sys.executable, "-m", "pyopbench", "pipeline", str(path), *OPTIONS, *options)
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


@pytest.mark.skipif(sys.platform != "linux", reason="the body reads where it is from /proc")
def test_a_body_costs_the_arrangements_in_which_it_misbehaves_and_the_rest_is_measured(tmp_path: Path) -> None:
    command = start(tmp_path, SOURCE.format(behaviours=BEHAVIOURS), "--json", "--baseline", "py_function_numpy")
    told, errors = command.communicate(timeout=400)
    assert command.returncode == 0, errors
    found = json.loads(told)
    measured = {one["key"] for one in found["arrangements"]}
    tried = [one for one in found["left_out"] if one["status"] != "unsupported"]
    failed = {one["key"]: (one["status"], one["reason"]) for one in tried}
    holes = {one["key"] for one in found["left_out"]} - {*failed}
    plan = read_plan(tmp_path / "run").pipeline
    assert plan is not None
    assert measured >= set(HARMLESS), failed
    assert failed["map parallel=2"] == ("raised", "ValueError: the thousandth element")
    assert failed["map parallel=5"][0] == "timeout"
    assert failed["map parallel=AUTOTUNE"][0] == "crashed"
    assert {"batch_loop batch=4", "processes"} <= holes  # the body counts its calls, so no file is written of it
    assert not measured & ({*failed} | holes)
    assert measured | {*failed} | holes >= {*plan.by_key}
    assert all(map(has_ended, [*processes_of(tmp_path, "worker"), *processes_of(tmp_path, "pool")]))


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child")
def test_no_process_outlives_a_worker_or_a_command_that_is_killed(tmp_path: Path) -> None:
    command = start(tmp_path, NOTING.format(folder=str(tmp_path)))
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

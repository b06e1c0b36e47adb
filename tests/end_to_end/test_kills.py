"""Fifty kills at random moments, of a run or of its worker: nothing that was finished is lost, nothing is left behind.

The workers measure nothing (fake_worker.py). What counts as finished is what the run itself has seen on the disk.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stored
from places import HELPERS
from processes import has_ended, left_in
from pyopbench.store import run_folder
from pyopbench.store.check import check_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child"),
]

KILLS = 50
LAUNCHES = 200
"""More than are begun in all, so that no kill finds the run ended; each kill costs those that were warm."""
SIZES = (1, 2, 3, 4, 5)
LINES = 45
"""What launches that take turns store here: three workers, their limits, five groups prepared by each and sampled in
sweeps, and that they are warm. A kill comes at a random moment after so many lines or fewer, however fast the machine
is."""
LATEST_SECONDS = 0.05


class Runs:
    """A process that measures, as often as it is told to, what is left of a run."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.buffer = b""

    def begin(self) -> int:
        """Let it go on with the run, and return the id of the process that does."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self.folder}\n".encode())
        self.process.stdin.flush()
        (line,) = self.lines("process", 60.0)
        return int(line.split()[1])

    def lines(self, last: str, seconds: float, most: int = sys.maxsize) -> list[str]:
        """Return what it writes until a line begins with a word, or there are so many, or for so many seconds."""
        assert self.process.stdout is not None
        end_of_time = time.monotonic() + seconds
        found: list[str] = []
        while len(found) < most and not (found and found[-1].startswith(last)):
            line, end, rest = self.buffer.partition(b"\n")
            if end:
                self.buffer = rest
                found.append(line.decode())
                continue
            ready, _, _ = select.select([self.process.stdout], [], [], max(end_of_time - time.monotonic(), 0.0))
            if not ready:
                return found
            read = os.read(self.process.stdout.fileno(), 65536)
            assert read, f"the process has ended with {self.process.wait()}"
            self.buffer += read
        return found


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    cases = [stored.case(variant, size=size) for size in SIZES for variant in ("well", "lasting")]
    settings = {**stored.SETTINGS, "launches": LAUNCHES, "rounds": 6, "group_seconds": 60.0}
    stored.write(tmp_path / "run", stored.run(cases, settings=settings), [])
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, str(HELPERS / "killed_run.py")]
    with subprocess.Popen(command, stdin=-1, stdout=-1, env=environment) as process:
        yield Runs(process, tmp_path / "run")


def groups_in(lines: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """Return launch and group of every pass that is on the disk; `read_lines` sees to it that none is there twice."""
    return [(line["launch"], line["group"]) for line in lines if line["kind"] == "group"]


def workers_in(lines: list[dict[str, Any]]) -> list[int]:
    return [line["environment"]["pid"] for line in lines if line["kind"] == "launch"]


def workers_of(told: list[str]) -> list[int]:
    """Return the workers of every launch that was told to be on the disk."""
    return [int(line.split()[2]) for line in told if line.startswith("launch")]


def finished(told: list[str]) -> list[tuple[int, str]]:
    """Return launch and group of every group that was told to be on the disk."""
    words = [line.split() for line in told if line.startswith("group")]
    return [(int(launch), group) for _, launch, group in words]


def test_nothing_that_was_finished_is_lost_in_fifty_kills(runs: Runs) -> None:
    rng = random.Random(7)
    known: list[tuple[int, str]] = []
    whole: list[dict[str, Any]] = []
    killed, begun = {"run": 0, "worker": 0}, 0
    for _ in range(KILLS):
        run = runs.begin()
        told = runs.lines("exit", 60.0, rng.randrange(LINES + 1))
        told += runs.lines("exit", rng.uniform(0.0, LATEST_SECONDS))
        workers = workers_of(told)
        if workers and rng.random() < 0.4:
            killed["worker"] += kill(rng.choice(workers))
            told += runs.lines("group", 60.0)
        killed["run"] += kill(run)
        told += runs.lines("exit", 60.0)
        assert told[-1] == f"exit {-signal.SIGKILL}", "each kill is of a run that is going on"
        known += finished(told)
        lines = stored.read_lines(runs.folder)
        found = groups_in(lines)
        assert found[: len(known)] == known
        assert len(found) <= len(known) + 1, "one may be on the disk, and killed before it was told"
        known = found
        assert lines[: len(whole)] == whole, "what was stored is never touched again"
        whole = lines
        assert set(workers) <= set(workers_in(lines)[begun:])
        assert all(has_ended(pid) for pid in workers_in(lines)[begun:])
        conditions = {file.condition for file in check_folder(runs.folder).files}
        assert conditions <= {"whole", "torn"}, "a kill leaves half a line at most"
        begun = len(workers_in(lines))
    most = 2 + max(Counter(group for _, group in set(known)).values())
    limit_to(runs.folder, most)
    runs.begin()
    assert runs.lines("exit", 120.0)[-1] == "exit 0"
    _, warnings = run_folder.read_lines(runs.folder)
    assert not warnings
    lines = stored.read_lines(runs.folder)
    found = groups_in(lines)
    assert found[: len(known)] == known
    lacking = sum((Counter(line["lacking"]) for line in lines if line["kind"] == "resumed"), Counter())
    asked = {stored.group(size=size): most + lacking[stored.group(size=size)] for size in SIZES}
    assert Counter(group for _, group in set(found)) == asked, "and further ones for those that were killed early"
    assert [line for line in lines if line.get("failures")] == []
    assert killed["run"] == KILLS
    assert killed["worker"] > 0
    assert json.dumps(lines)
    assert left_in(runs.folder.with_name("temporary")) == []


def limit_to(folder: Path, launches: int) -> None:
    """Let a run end after so many launches."""
    run = stored.read_run(folder)
    run["settings"]["launches"] = launches
    (folder / run_folder.RUN_FILE).write_text(json.dumps(run), encoding="utf-8")


def kill(process: int) -> int:
    """Kill a process; return 1 if it was there."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1

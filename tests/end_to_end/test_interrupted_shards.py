"""Ctrl-C and SIGTERM at a shard: it ends at once with 130, leaves no worker, says how to go on, and then is whole.

Each moment is known, and not guessed by waiting: fake workers write every request to a pipe before they answer it, and
the one at which the run is to be interrupted they never answer. Python is started for what is interrupted; the
commands beside it are forked.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sharded
import stored
from forked_programs import ForkedPrograms
from places import HELPERS
from processes import has_ended
from pyopbench.engine import host_lock
from pyopbench.model.discover import PATH_VARIABLE
from pyopbench.model.host import VARIABLE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux tells the end of no child"),
]

# A shell lets what it starts in the background ignore SIGINT, and these tests with it.
CODE = f"""
import runpy, signal, sys
sys.path.insert(0, {str(HELPERS)!r})
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_path({str(HELPERS / "fake_pyopbench.py")!r}, run_name="__main__")
"""
LONG = 60.0
HANGING = {"prepare": "hanging", "sample": "late_hanging"}
"""The variant of `fake_worker.py` that never answers a request."""
FEW = ("--until", "end", "--launches", "2", "--settings", "rounds=2", "--no-probes", "--settings", "seed=1")


class Place:
    """A folder with a plan, and a pipe that tells what workers are asked."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder, self.program = folder, program
        os.mkfifo(folder / "requests")
        # For both directions, so that it neither waits for a writer nor ends when one of several has closed it.
        self.requests = os.open(folder / "requests", os.O_RDWR)
        self.buffer = b""
        (folder / "variants").mkdir()
        for variant in HANGING.values():
            (folder / "variants" / f"{variant}.py").touch()

    def close(self) -> None:
        os.close(self.requests)

    def plan(self, variant: str) -> None:
        """Plan two units, of which each has a case that behaves as its variant says."""
        names = ("py_function_numpy", variant)
        plan = sharded.plan([stored.case(name, op) for op in ("double", "sinh") for name in names])
        kept = {key: plan[key] for key in ("cases", "skips", "catalogue", "environment")}
        (self.folder / "plan.json").write_text(json.dumps(kept), encoding="utf-8")

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command there, whose workers answer everything, and return its exit code and its errors."""
        settings = self._settings(FAKE_WORKER_HEALED="1")
        done = subprocess.run([self.program, *words], **settings, timeout=LONG, check=False)
        return done.returncode, done.stderr

    def _settings(self, **variables: str) -> dict[str, Any]:
        told = {
            VARIABLE: "host-1",
            PATH_VARIABLE: str(self.folder),
            host_lock.FOLDER_VARIABLE: str(self.folder),
            "FAKE_WORKER_PLAN": str(self.folder / "plan.json"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "COLUMNS": "200",
            **variables,
        }
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return {"cwd": self.folder, "env": {**os.environ, **told}, "text": True, **pipes}

    def begin(self) -> subprocess.Popen[str]:
        """Start the first of two shards."""
        command = [sys.executable, "-c", CODE, *shard(1)]
        return subprocess.Popen(command, **self._settings(FAKE_WORKER_LOG=str(self.folder / "requests")))

    def wait_for(self, request: str, process: subprocess.Popen[str]) -> None:
        """Return when a worker is asked for something; a command that ends before that fails the test."""
        descriptor = os.pidfd_open(process.pid)
        try:
            while True:
                line, end, rest = self.buffer.partition(b"\n")
                if end:
                    self.buffer = rest
                    if json.loads(line)["do"] == request:
                        return
                    continue
                ready, _, _ = select.select([self.requests, descriptor], [], [])
                assert self.requests in ready, process.communicate()
                self.buffer += os.read(self.requests, 65536)
        finally:
            os.close(descriptor)

    def workers(self, shard: str) -> list[int]:
        lines = stored.read_lines(self.folder / shard)
        return [line["environment"]["pid"] for line in lines if line["kind"] == "launch"]


def shard(index: int) -> tuple[str, ...]:
    """Return the words that measure one of two shards."""
    return ("run", *FEW, "--shard", f"{index}/2", "--out", f"shard-{index}")


@pytest.fixture
def place(tmp_path: Path, forked_programs: ForkedPrograms) -> Iterator[Place]:
    made = Place(tmp_path, forked_programs.write(tmp_path / "program" / "pyopbench", "fake_pyopbench"))
    yield made
    made.close()


def interrupted(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> str:
    """Interrupt a command, which ends with 130, and return what it has said."""
    process.send_signal(number)
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    return err


def require_whole_after_resuming(place: Place, told: str) -> None:
    """Resume as the interrupted shard says, and merge it with the other, which no sooner is possible."""
    code, err = place.run(*shard(2))
    assert code == 0, err
    code, err = place.run("merge", "shard-1", "shard-2", "--out", "merged")
    assert code == 2
    assert "resume" in err
    (line,) = [line for line in told.splitlines() if line.startswith("  resume: ")]
    program, *words = shlex.split(line.removeprefix("  resume: "))
    assert program == "pyopbench"
    for command in (words, ("merge", "shard-1", "shard-2", "--out", "merged")):
        code, err = place.run(*command)
        assert code == 0, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("request_", HANGING)
def test_a_shard_that_is_interrupted_ends_and_can_be_continued(
    place: Place, request_: str, number: signal.Signals
) -> None:
    place.plan(HANGING[request_])
    process = place.begin()
    place.wait_for(request_, process)
    told = interrupted(process, number)
    assert all(map(has_ended, place.workers("shard-1")))
    if number is signal.SIGINT:
        require_whole_after_resuming(place, told)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_shard_that_waits_for_the_machine_is_interrupted_and_can_be_continued(
    place: Place, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(host_lock.FOLDER_VARIABLE, str(place.folder))
    place.plan("native")
    with host_lock.held(host="host-1"):
        process = place.begin()
        assert process.stderr is not None
        while "waiting" not in process.stderr.readline():
            assert process.poll() is None
        told = interrupted(process, number)
    if number is signal.SIGINT:
        require_whole_after_resuming(place, told)


def test_a_shard_that_is_interrupted_while_it_is_planned_leaves_nothing(place: Place) -> None:
    os.mkfifo(place.folder / "plan.json")  # which nobody writes to
    process = place.begin()
    place.wait_for("plan", process)
    interrupted(process)
    assert not (place.folder / "shard-1").exists()

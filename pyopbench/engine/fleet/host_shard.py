"""A shard on the host that measures it: its folder in the cache, the lock of the host, and the process that measures.

What is measured stays there until the client says that it has it. So a shard that was finished when the scheduler or
the client was lost is handed over later, and one that was interrupted is continued where it was begun.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from pyopbench.engine import host_lock
from pyopbench.engine.fleet import messages
from pyopbench.engine.fleet.messages import Delivery, Outcome, Request
from pyopbench.model import cache_folder
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.host import VARIABLE
from pyopbench.model.process_guard import Guard, end_group
from pyopbench.model.write_file import write_atomically
from pyopbench.store import integrity

COMMAND_VARIABLE = "PYOPBENCH_FLEET_COMMAND"
"""Holds, on a host, a command that is run in place of `COMMAND`: of another Python, or one that pretends to measure."""
COMMAND = (sys.executable, "-m", "pyopbench")

MEASURED_CODES = (0, 1)
"""Exit codes of a run that has measured: 1 says that a variant is wrong."""
FINISHED, RESULTS, LOG, SENT = "finished.json", "results", "log", "sent"
STOP_SECONDS = 10.0
"""How long a process that is to stop has to write down what it has, before it is killed."""
POLL_SECONDS = 0.25


class Finished(Struct, frozen=True, kw_only=True):
    """What lies beside the results of a shard when all of it is measured."""

    exit_code: int
    seconds: float


@dataclass(frozen=True)
class Ended:
    """How measuring a shard ended.

    Attributes:
        outcome: what became of it.
        exit_code: of the process that measured; None where it was not started, or did not stop.
        told: the end of what it said, where it failed.
    """

    outcome: Outcome
    exit_code: int | None = None
    told: str = ""


@dataclass
class Running:
    """A shard that is being measured in this process, and whether it is to be stopped."""

    fleet: str
    stopped: threading.Event = field(default_factory=threading.Event)


def folder_of(fleet: str, host: str) -> Path:
    """Return the folder of a fleet in the cache; by host, because a home may be one for all of them.

    Raises:
        BadInput: the cache cannot be written to, or others can.
    """
    return cache_folder.private_folder("fleet", "shards of a fleet") / host / fleet


def kept_in(folder: Path) -> tuple[list[int], list[int]]:
    """Return the shards in the folder of a fleet: those that are finished, and those that were begun."""
    shards = [path for path in folder.glob("*") if path.name.isdigit() and path.is_dir()]
    finished = sorted(int(path.name) for path in shards if (path / FINISHED).exists())
    begun = sorted(int(path.name) for path in shards if (path / RESULTS).exists())
    return finished, [shard for shard in begun if shard not in finished]


def measure(request: Request, host: str, running: Running) -> Delivery:
    """Measure a shard when the host is free; whatever goes wrong is told, so that another host can try."""
    began = free = time.monotonic()
    files: Mapping[str, bytes] = {}
    try:
        folder = folder_of(request.fleet, host) / str(request.shard)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with host_lock.held(host=host, is_wanted=lambda: not running.stopped.is_set()) as lock:
            free = time.monotonic()
            ended = _finished(folder) or _Shard(request, folder, host, lock, running).measure()
        if ended.outcome == "measured":
            files = _files(folder / RESULTS)
    except host_lock.Unwanted:
        ended = Ended("stopped")
    except (PyopbenchError, OSError) as error:  # the disk is full, for example
        ended = Ended("failed", None, str(error)[-messages.LONGEST_WORDS :])
    return Delivery(
        fleet=request.fleet,
        shard=request.shard,
        host=host,
        outcome=ended.outcome,
        exit_code=ended.exit_code,
        told=ended.told,
        seconds=time.monotonic() - free,
        waited_seconds=free - began,
        files=dict(files),
    )


def _finished(folder: Path) -> Ended | None:
    """Return how a shard ended that is finished; None if it is not."""
    try:
        content = (folder / FINISHED).read_bytes()
        finished = msgspec.json.decode(content, type=Finished)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    if integrity.seal_of(content).state == "changed":
        return None
    return Ended("measured", finished.exit_code)


@dataclass(frozen=True)
class _Shard:
    request: Request
    folder: Path
    host: str
    lock: int
    running: Running

    def measure(self) -> Ended:
        """Continue what was begun here, or else begin; begin again where it cannot be continued."""
        paths = self._write_sent()
        results = self.folder / RESULTS
        if any((results / name).exists() for name in ("run.json", "versions.json")):
            ended = self._call(["resume", str(results), *_on_this_host(self.request.own_words, paths), "--yes"])
            if ended.outcome != "failed":
                return ended
        shutil.rmtree(results, ignore_errors=True)
        shard = ("--shard", f"{self.request.shard}/{self.request.of}", "--out", str(results))
        return self._call(["run", *_on_this_host(self.request.words, paths), *shard])

    def _write_sent(self) -> dict[str, Path]:
        """Write the files that came along, each under its hash, and return where each is, by how it is named."""
        paths = {}
        for file in self.request.files:
            place = self.folder.parent / SENT / file.sha256
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            paths[file.text] = place / file.name
            write_atomically(paths[file.text], file.content)
        return paths

    def _call(self, words: Sequence[str]) -> Ended:
        """Run a command to its end, or stop it; it and what it starts end with this process, however that ends."""
        told = os.environ.get(COMMAND_VARIABLE)
        variables = {VARIABLE: self.host, **host_lock.handed_down(self.lock)}
        began = time.monotonic()
        with (self.folder / LOG).open("wb") as log:
            process = subprocess.Popen(
                [*(shlex.split(told) if told else COMMAND), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables},
                pass_fds=(self.lock,),
                start_new_session=True,  # what it starts can be ended with it
                cwd=self.folder,
            )
        guard = Guard(process.pid)
        try:
            code = self._wait(process)
        finally:
            end_group(process.pid)
            process.wait()
            guard.close()
        if code in MEASURED_CODES:
            finished = Finished(exit_code=code, seconds=time.monotonic() - began)
            write_atomically(self.folder / FINISHED, integrity.sealed(msgspec.json.encode(finished).decode()))
            return Ended("measured", code)
        is_stopped = self.running.stopped.is_set()
        return Ended("stopped" if is_stopped else "failed", code, _end_of(self.folder / LOG))

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        """Return the exit code; None if it was to stop and did not."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_SECONDS)
            if self.running.stopped.is_set():
                process.terminate()  # as Ctrl-C: what is measured is written down
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(STOP_SECONDS)
                return None


def _on_this_host(words: Sequence[str], paths: Mapping[str, Path]) -> list[str]:
    """Return words with the files that were sent where they are here: `my_op.py:f` and `x=data.npy` too."""
    return [_replaced(word, paths) for word in words]


def _replaced(word: str, paths: Mapping[str, Path]) -> str:
    for text, path in paths.items():
        before, equals, last = word.rpartition("=")
        if last == text:
            return f"{before}{equals}{path}"
        if word.startswith(f"{text}:"):
            return f"{path}{word.removeprefix(text)}"
    return word


def _files(results: Path) -> dict[str, bytes]:
    """Return the results in a folder by their paths in it, but for reports, which the client makes of all shards."""
    paths = (path for path in sorted(results.rglob("*")) if path.is_file() and not path.is_symlink())
    named = {path.relative_to(results).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in named.items() if messages.FILE.fullmatch(name)}


def _end_of(log: Path) -> str:
    """Return the end of what a process has said."""
    with suppress(OSError):
        return log.read_bytes()[-messages.LONGEST_WORDS :].decode(errors="replace").strip()
    return ""

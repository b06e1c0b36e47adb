"""What a host of a fleet does: it measures shards in processes of their own, and keeps them until the client has them.

A worker of Dask calls the functions without an underscore here; Dask carries what they are given and what they return.
What is measured stays in the cache of the host until the client says that it has it. So a shard that was finished when
the scheduler or the client was lost is handed over later, and one that was interrupted is continued where it was begun.
No TensorFlow is imported here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pyopbench.engine import host_lock
from pyopbench.engine.fleet.facts import Facts, facts_of
from pyopbench.model import cache_folder
from pyopbench.model.errors import PyopbenchError
from pyopbench.model.host import VARIABLE, host_name
from pyopbench.model.process_guard import Guard, end_group
from pyopbench.model.write_file import write_atomically

NAMED = "pyopbench-host="
"""A worker of Dask whose name begins so is the host whose name follows: several can then be on one machine."""
HOST = r"([A-Za-z0-9][A-Za-z0-9._-]{0,62})"
"""The name of a host, which is that of a folder too."""
COMMAND_VARIABLE = "PYOPBENCH_FLEET_COMMAND"
"""Holds, on a host, a command that is run in place of `COMMAND`: of another Python, or one that pretends to measure."""
COMMAND = (sys.executable, "-m", "pyopbench")

MEASURED_CODES = (0, 1)
"""Exit codes of a run that has measured: 1 says that a variant is wrong."""
RESULT_FILE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99}/)?[A-Za-z0-9][A-Za-z0-9_-]{0,99}\.(json|jsonl)")
"""What a folder of results has, in it or in the folder of a version of TensorFlow; the client makes the reports."""
FINISHED, RESULTS, LOG, SENT = "finished", "results", "log", "sent"
LONGEST_WORDS = 4000
"""Characters of the end of a log that go back to the client."""
STOP_SECONDS = 10.0
"""How long a process that is to stop has to write down what it has, before it is killed."""
POLL_SECONDS = 0.25


@dataclass(frozen=True)
class SentFile:
    """A file that the user sends: how the command line names it, its name, and its content with the hash of it."""

    text: str
    name: str
    sha256: str
    content: bytes


@dataclass(frozen=True)
class Request:
    """A shard that a host is to measure.

    Attributes:
        fleet: the fleet that it is of.
        shard: its number, from 1.
        of: how many there are.
        words: what `pyopbench run` is given besides the shard and the folder.
        own_words: what `pyopbench resume` is given besides the folder.
        files: what is sent along.
    """

    fleet: str
    shard: int
    of: int
    words: tuple[str, ...]
    own_words: tuple[str, ...] = ()
    files: tuple[SentFile, ...] = ()


@dataclass(frozen=True)
class Delivery:
    """A shard that was measured: on which host, in which time, and the files of its results by path."""

    host: str
    seconds: float
    files: Mapping[str, bytes]


class ShardFailed(Exception):
    """A shard could not be measured; the end of what the process said."""


class ShardStopped(Exception):
    """A shard was stopped when the client asked for it; it can be continued."""


@dataclass(frozen=True)
class Running:
    """A shard that is being measured in this process, and whether it is to be stopped."""

    fleet: str
    stopped: threading.Event


_running: dict[str, Running] = {}
"""By host: in tests several are in one process."""


def measure_shard(request: Request) -> Delivery:
    """Measure a shard when the host is free, or hand over what is measured of it already.

    Raises:
        ShardFailed: it cannot be measured here, so that another host can try.
        ShardStopped: the client asked for that.
    """
    from distributed import get_worker

    host = host_of(get_worker())
    running = Running(request.fleet, threading.Event())
    _running[host] = running
    try:
        return measure(request, host, running.stopped)
    finally:
        if _running.get(host) is running:
            del _running[host]


def describe(dask_worker: Any = None) -> Facts:
    """Return what this host is."""
    folder = cache_folder.folder_of("fleet")
    return facts_of(host_of(dask_worker), folder, _disturbing_parts(dask_worker))


def kept_shards(fleet: str, dask_worker: Any = None) -> tuple[list[int], list[int]]:
    """Return the shards of a fleet that are here: those that are finished, and those that were begun."""
    folder = folder_of(fleet, host_of(dask_worker))
    shards = [path for path in folder.glob("*") if path.name.isdigit() and path.is_dir()]
    finished = sorted(int(path.name) for path in shards if (path / FINISHED).exists())
    begun = sorted(int(path.name) for path in shards if (path / RESULTS).exists())
    return finished, [shard for shard in begun if shard not in finished]


def forget(fleet: str, shards: Sequence[int], dask_worker: Any = None) -> None:
    """Remove what is kept here of shards that the client has, or of the whole fleet if none is named."""
    folder = folder_of(fleet, host_of(dask_worker))
    for gone in [folder / str(shard) for shard in shards] or [folder]:
        shutil.rmtree(gone, ignore_errors=True)


def stop(fleet: str, dask_worker: Any = None) -> None:
    """Stop measuring for a fleet; what is finished stays, and what is not can be continued."""
    running = _running.get(host_of(dask_worker))
    if running is not None and running.fleet == fleet:
        running.stopped.set()


def host_of(worker: Any) -> str:
    """Return the name of the host that a worker of Dask is on."""
    named = re.fullmatch(NAMED + HOST, str(getattr(worker, "name", "")))
    return named[1] if named else host_name()


def folder_of(fleet: str, host: str) -> Path:
    """Return the folder of a fleet in the cache; by host, because a home may be one for all of them.

    Raises:
        BadInput: the cache cannot be written to, or others can.
    """
    return cache_folder.private_folder("fleet", "shards of a fleet") / host / fleet


def measure(request: Request, host: str, stopped: threading.Event) -> Delivery:
    """Measure a shard under the lock of the host; raises as `measure_shard`."""
    try:
        folder = folder_of(request.fleet, host) / str(request.shard)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with host_lock.held(host=host, is_wanted=lambda: not stopped.is_set()) as lock:
            began = time.monotonic()
            if not (folder / FINISHED).exists():
                _Shard(request, folder, host, lock, stopped).measure()
        return Delivery(host, time.monotonic() - began, _files(folder / RESULTS))
    except host_lock.Unwanted as error:
        raise ShardStopped(host) from error
    except (PyopbenchError, OSError) as error:  # the disk is full, for example
        raise ShardFailed(str(error)[-LONGEST_WORDS:]) from error


@dataclass(frozen=True)
class _Shard:
    request: Request
    folder: Path
    host: str
    lock: int
    stopped: threading.Event

    def measure(self) -> None:
        """Continue what was begun here, or else begin; begin again where it cannot be continued."""
        paths = self._write_sent()
        results = self.folder / RESULTS
        if any((results / name).exists() for name in ("run.json", "sides.json")):
            with suppress(ShardFailed):
                self._call(["resume", str(results), *_on_this_host(self.request.own_words, paths), "--yes"])
                return
        shutil.rmtree(results, ignore_errors=True)
        shard = ("--shard", f"{self.request.shard}/{self.request.of}", "--out", str(results))
        self._call(["run", *_on_this_host(self.request.words, paths), *shard])

    def _write_sent(self) -> dict[str, Path]:
        """Write the files that came along, each under its hash, and return where each is, by how it is named."""
        paths = {}
        for file in self.request.files:
            place = self.folder.parent / SENT / file.sha256
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            paths[file.text] = place / file.name
            write_atomically(paths[file.text], file.content)
        return paths

    def _call(self, words: Sequence[str]) -> None:
        """Run a command to its end, or stop it; it and what it starts end with this process, however that ends."""
        command = os.environ.get(COMMAND_VARIABLE)
        variables = {VARIABLE: self.host, **host_lock.handed_down(self.lock)}
        guard = Guard()
        with (self.folder / LOG).open("wb") as log:
            process = guard.start(
                [*(shlex.split(command) if command else COMMAND), *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **variables},
                pass_fds=(self.lock,),
                cwd=self.folder,
            )
        try:
            code = self._wait(process)
        finally:
            end_group(process.pid)
            process.wait()
            guard.close()
        if code not in MEASURED_CODES:
            raise (ShardStopped if self.stopped.is_set() else ShardFailed)(_end_of(self.folder / LOG))
        write_atomically(self.folder / FINISHED, b"")

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        """Return the exit code; None if it was to stop and did not."""
        while True:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_SECONDS)
            if self.stopped.is_set():
                process.terminate()  # as Ctrl-C: what is measured is written down
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(STOP_SECONDS)
                return None


def _on_this_host(words: Sequence[str], paths: Mapping[str, Path]) -> list[str]:
    """Return words with the files that were sent where they are here: `my_op.py:f` and `x=data.npy` too."""
    return [_replace(word, paths) for word in words]


def _replace(word: str, paths: Mapping[str, Path]) -> str:
    for text, path in paths.items():
        before, equals, last = word.rpartition("=")
        if last == text:
            return f"{before}{equals}{path}"
        if word.startswith(f"{text}:"):
            return f"{path}{word.removeprefix(text)}"
    return word


def _files(results: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(results.rglob("*")) if path.is_file() and not path.is_symlink())
    by_name = {path.relative_to(results).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in by_name.items() if RESULT_FILE.fullmatch(name)}


def _end_of(log: Path) -> str:
    with suppress(OSError):
        return log.read_bytes()[-LONGEST_WORDS:].decode(errors="replace").strip()
    return ""


def _disturbing_parts(worker: Any) -> tuple[str, ...]:
    """Return what of Dask's own looks into this process again and again, and so disturbs what is measured meanwhile."""
    import dask

    on = []
    if "profile" in getattr(worker, "periodic_callbacks", {}):
        on.append("profiler")
    # Without gilknocker Dask has no such monitor, whatever its settings say.
    if dask.config.get("distributed.admin.system-monitor.gil.enabled", False) and find_spec("gilknocker"):
        on.append("GIL monitor")
    return tuple(on)

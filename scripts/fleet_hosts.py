"""Processes that stand for the hosts of a fleet, for the scripts that try what becomes of one: all on this machine.

What they cannot show: machines differ, networks lose and delay, and cores are shared here. Hosts only pretend to
measure unless they are told otherwise.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "helpers"))
sys.path.insert(0, str(ROOT))
from dask_hosts import FAKE_COMMAND, dask_hosts, write_template  # noqa: E402 - its folder was just added
from pyopbench.engine import host_lock  # noqa: E402 - likewise

__all__ = ["Kept", "Site", "client", "dask_hosts", "run_client", "samples_in"]

QUIET = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__GIL__ENABLED": "False",
    "DASK_DISTRIBUTED__SCHEDULER__WORK_STEALING": "False",
}
RESTART_SECONDS = 0.5
TOLERANCE_SECONDS = 0.0
"""By which two measurements on a host may overlap."""


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Kept:
    """A process that is started again whenever it ends, as a supervisor does, until it is closed."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        self._command, self._variables, self._log = list(command), dict(variables), log
        self._is_wanted = True
        self.process = self._start()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command, env={**os.environ, **self._variables}, stdout=log, stderr=log, start_new_session=True
            )

    def _watch(self) -> None:
        while self._is_wanted:
            self.process.wait()
            time.sleep(RESTART_SECONDS)
            if self._is_wanted:
                self.process = self._start()

    def family(self) -> list[psutil.Process]:
        """Return the process and all that it has started."""
        with suppress(psutil.NoSuchProcess):
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        return []

    def kill(self) -> None:
        """End it as `kill -9` does; what it started is left to its guards."""
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, signal.SIGKILL)

    def freeze(self, seconds: float) -> None:
        """Stop it and all that it has started for some seconds, as a machine that is not heard."""
        stopped = self.family()
        for one in stopped:
            with suppress(psutil.NoSuchProcess):
                one.suspend()
        time.sleep(seconds)
        for one in stopped:
            with suppress(psutil.NoSuchProcess):
                one.resume()

    def close(self) -> None:
        """End it and all that it has started."""
        self._is_wanted = False
        for one in self.family():
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self.process.wait()


@dataclass
class Site:
    """Schedulers and hosts in a folder.

    Attributes:
        folder: for all that they write.
        variables: that hosts are given.
        measures: do the hosts measure, with TensorFlow? If not, they only pretend to.
        schedulers: by address.
        hosts: by name, and by scheduler's address.
    """

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    measures: bool = False
    schedulers: dict[str, Kept] = field(default_factory=dict)
    hosts: dict[tuple[str, str], Kept] = field(default_factory=dict)

    def __post_init__(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whoever closes it does so then, too
        (self.folder / "locks").mkdir(parents=True)
        self.variables = {
            **QUIET,
            **({} if self.measures else self._pretending()),
            "PYOPBENCH_LOCK_FOLDER": str(self.folder / "locks"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            **self.variables,
        }

    def _pretending(self) -> dict[str, str]:
        return {
            "PYOPBENCH_FLEET_COMMAND": FAKE_COMMAND,
            "FAKE_SHARD_TEMPLATE": str(write_template(self.folder / "template.json")),
            "FAKE_SHARD_TIMES": str(self.folder / "times"),
        }

    def share_one_lock(self, *hosts: str) -> None:
        """Have hosts take turns at measuring, so that each has all cores while it does: their locks are one file."""
        paths = [self.folder / "locks" / host_lock.path_of(host).name for host in hosts]
        paths[0].touch()
        for path in paths[1:]:
            os.link(paths[0], path)

    def add_scheduler(self) -> str:
        """Start a scheduler and return its address."""
        port = free_port()
        words = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
        kept = Kept(
            [sys.executable, "-m", "distributed.cli.dask_scheduler", *words], QUIET, self.folder / "scheduler.log"
        )
        address = f"tcp://127.0.0.1:{port}"
        self.schedulers[address] = kept
        return address

    def add_host(self, name: str, scheduler: str, **variables: str) -> None:
        """Start the worker of a host."""
        words = [scheduler, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        words += ["--resources", "measure=1", "--death-timeout", "15", "--local-directory", str(self.folder / "dask")]
        told = {**self.variables, "PYOPBENCH_HOST": name, **variables}
        command = [sys.executable, "-m", "distributed.cli.dask_worker", *words]
        self.hosts[name, scheduler] = Kept(command, told, self.folder / f"{name}.log")

    def close(self) -> None:
        """End everything."""
        for kept in (*self.hosts.values(), *self.schedulers.values()):
            kept.close()

    def intervals(self) -> dict[str, list[tuple[float, float]]]:
        """Return when each host measured, from the times that were written down, in order."""
        found: dict[str, list[tuple[float, float]]] = defaultdict(list)
        path = self.folder / "times"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            host, _, _, began, ended = json.loads(line)
            found[host].append((began, ended))
        return {host: sorted(times) for host, times in found.items()}

    def overlaps(self) -> int:
        """Return how often a host began a measurement before another one there had ended."""
        return sum(
            later[0] < earlier[1] - TOLERANCE_SECONDS
            for times in self.intervals().values()
            for earlier, later in itertools.pairwise(times)
        )


def client(*words: str) -> list[str]:
    """Return the command of a client of a fleet."""
    return [sys.executable, "-m", "pyopbench", "fleet", *words]


def run_client(words: Sequence[str], log: Path) -> int:
    """Run a client of a fleet to its end, and return its exit code."""
    with log.open("ab") as stream:
        return subprocess.run(client(*words), stdout=stream, stderr=stream, check=False).returncode


def samples_in(folder: Path) -> Counter[tuple[str, int]]:
    """Return how often each sample, a case and its round, is in the shards of a fleet on the client's disk."""
    found: Counter[tuple[str, int]] = Counter()
    for path in folder.glob("shards/*/samples.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            for case, samples in line.get("samples", {}).items():
                found.update((case, int(sample[0])) for sample in samples)
    return found

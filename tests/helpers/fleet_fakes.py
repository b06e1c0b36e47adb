"""Hosts of a fleet that measure nothing, without Dask: what `dispatch` gives out comes back as each host is told to."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import pyopbench
import stored
from pyopbench.engine import git
from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet.facts import Facts, Host
from pyopbench.engine.fleet.folder import FleetPlan
from pyopbench.engine.fleet.host import Delivery, Request, ShardFailed, ShardStopped
from pyopbench.model.discover import PACKAGE
from pyopbench.store import run_folder

FLEET = "0123456789abcdef"


def plan(shards: int, **changes: object) -> FleetPlan:
    return msgspec.structs.replace(FleetPlan(fleet=FLEET, words=["double"], own_words=[], shards=shards), **changes)


def results(tmp_path: Path, shard: int, of: int = 4, host: str = "a") -> dict[str, bytes]:
    """Return the files of a shard as a host leaves them."""
    folder = tmp_path / f"made-{shard}-{host}"
    if not folder.exists():
        cases = [stored.case(variant, f"double{shard}") for variant in ("py_function_numpy", "native")]
        settings = {**stored.SETTINGS, "baseline": "py_function_numpy"}
        parts = [[f"double{one}/call/float32/cpu"] for one in range(1, of + 1)]
        mine = {"index": shard, "of": of, "replicates": 1, "plan": "0" * 64, "parts": parts, "host": host}
        ended = {"kind": "ended", "launch": 1, "by": "launches", "looks": 0, "seconds": 1.0, "sampling_seconds": 1.0}
        lines = [stored.launch_line(0), stored.group_line(0, cases), ended]
        stored.write(folder, stored.run(cases, settings=settings, shard=mine), lines)
    return {name: (folder / name).read_bytes() for name in (run_folder.RUN_FILE, run_folder.SAMPLES_FILE)}


def facts(host: str, **changes: object) -> Facts:
    made = Facts(
        host=host,
        now=time.time(),
        cpu="a processor",
        cores=2,
        memory_bytes=2**33,
        governor=None,
        os="an operating system",
        python="3.11.7",
        pyopbench=pyopbench.__version__,
        commit=git.ask(PACKAGE, "rev-parse", "HEAD"),
        tensorflow="2.21.0",
        environments=(),
        compiler="g++ 12",
        cuda_compiler=None,
        gpus=(),
        free_bytes=2**40,
        is_measuring=False,
        lock="",
        dask=(),
    )
    return dataclasses.replace(made, **changes)


@dataclass
class FakeFuture:
    """Stands for a future of Dask."""

    host: str
    shard: int
    behaviour: Callable[[], str]
    files: Callable[[], dict[str, bytes]]
    said: str

    @property
    def status(self) -> str:
        kinds = {"never": "pending", "lost": "lost", "fails": "error", "stopped": "error"}
        return kinds.get(self.behaviour(), "finished")

    def result(self, timeout: float) -> Delivery:
        if self.behaviour() == "fails":
            raise ShardFailed(self.said)
        if self.behaviour() == "stopped":
            raise ShardStopped
        return Delivery(self.host, 2.0, self.files())

    def release(self) -> None:
        pass


@dataclass
class FakeHosts:
    """Stands for `Scheduler`.

    Attributes:
        tmp_path: for results that are made up.
        of: shards of the fleet.
        there: hosts, and their addresses.
        behaves: of a host and a shard what comes back: `well`, `fails`, `lost`, `torn`, `never`, `stopped`.
        kept_by: what hosts keep when they come, finished and begun.
        given: what was given to whom, in order.
        forgotten, stopped: what hosts were asked to.
        said: what a host that fails says.
        known: what there is to see of the workers.
        unfit: workers that are given nothing, and why.
        before: is called before hosts are looked for, with how often they were.
        waiting: what was given and has not come back.
    """

    tmp_path: Path
    of: int
    there: dict[str, str]
    behaves: Callable[[str, int], str] = lambda host, shard: "well"
    kept_by: dict[str, tuple[list[int], list[int]]] = field(default_factory=dict)
    given: list[tuple[str, int]] = field(default_factory=list)
    forgotten: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    said: str = "no room"
    before: Callable[[FakeHosts, int], None] = lambda hosts, times: None
    known: Host | None = None
    unfit: dict[str, str] = field(default_factory=dict)
    looks: int = 0
    waiting: list[FakeFuture] = field(default_factory=list)

    def __enter__(self) -> FakeHosts:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def workers(self) -> list[Host]:
        return [] if self.known is None else [self.known]

    def hosts(self) -> dict[str, str]:
        self.looks += 1
        self.before(self, self.looks)
        return dict(self.there)

    def refused(self) -> dict[str, str]:
        return self.unfit

    def kept(self, address: str, fleet: str) -> tuple[list[int], list[int]]:
        host = next(name for name, one in self.there.items() if one == address)
        return self.kept_by.get(host, ([], []))

    def submit(self, address: str, request: Request) -> FakeFuture:
        host = next(name for name, one in self.there.items() if one == address)
        shard = request.shard
        self.given.append((host, shard))
        future = FakeFuture(host, shard, lambda: self.behaves(host, shard), lambda: self._files(host, shard), self.said)
        self.waiting.append(future)
        return future

    def wait(self, futures: Sequence[FakeFuture], seconds: float) -> None:
        self.waiting = [one for one in futures if one.status == "pending"]

    def forget(self, address: str, fleet: str, shards: list[int]) -> None:
        self.forgotten.append((address, tuple(shards)))

    def stop(self, fleet: str) -> None:
        self.stopped.append(fleet)

    def _files(self, host: str, shard: int) -> dict[str, bytes]:
        files = results(self.tmp_path, shard, self.of, host)
        if self.behaves(host, shard) == "torn":
            files[run_folder.SAMPLES_FILE] = files[run_folder.SAMPLES_FILE].replace(b"0.5", b"0.6", 1)
        return files


def samples_of(folder: Path, shard: int) -> int:
    """Return how many samples a shard has."""
    text = (fleet_folder.folder_of(folder, shard) / run_folder.SAMPLES_FILE).read_text(encoding="utf-8")
    lines = map(json.loads, text.splitlines())
    return sum(len(one) for line in lines for one in line.get("samples", {}).values())

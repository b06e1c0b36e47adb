"""Hosts of a fleet that measure nothing, without Dask: what `dispatch` gives out comes back as each host is told to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import stored
from pyopbench.engine.fleet import plan_folder
from pyopbench.engine.fleet.answers import Known, Told
from pyopbench.engine.fleet.messages import Delivery, Facts, KeptShards, Request
from pyopbench.engine.fleet.plan_folder import FleetPlan
from pyopbench.store import run_folder

FLEET = "0123456789abcdef"


def plan(shards: int, **changes: object) -> FleetPlan:
    made = FleetPlan(
        schema=1,
        fleet=FLEET,
        words=["double"],
        own_words=[],
        shards=shards,
        replicates=1,
        files=[],
        pyopbench="0.1.0",
        created="2026-01-02T03:04:05+00:00",
    )
    return msgspec.structs.replace(made, **changes)


def results(tmp_path: Path, shard: int, of: int = 4) -> dict[str, bytes]:
    """Return the files of a shard as a host leaves them."""
    folder = tmp_path / f"made-{shard}"
    if not folder.exists():
        cases = [stored.case(variant, f"double{shard}") for variant in ("py_function_numpy", "native")]
        settings = {**stored.SETTINGS, "baseline": "py_function_numpy"}
        parts = [[f"double{one}/call/float32/cpu"] for one in range(1, of + 1)]
        mine = {"index": shard, "of": of, "replicates": 1, "plan": "0" * 64, "parts": parts, "host": "a"}
        ended = {"kind": "ended", "launch": 1, "by": "launches", "looks": 0, "seconds": 1.0, "sampling_seconds": 1.0}
        lines = [stored.launch_line(0), stored.group_line(0, cases), ended]
        stored.write(folder, stored.run(cases, settings=settings, shard=mine), lines)
    return {name: (folder / name).read_bytes() for name in (run_folder.RUN_FILE, run_folder.SAMPLES_FILE)}


def delivery(host: str, shard: int, files: dict[str, bytes] | None = None, **changes: object) -> Delivery:
    made = Delivery(
        fleet=FLEET,
        shard=shard,
        host=host,
        outcome="measured",
        exit_code=0,
        told="",
        seconds=2.0,
        waited_seconds=0.0,
        files=files or {},
    )
    return msgspec.structs.replace(made, **changes)


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
        pyopbench="0.1.0",
        commit=None,
        tensorflow="2.21.0",
        environments=[],
        compiler="g++ 12",
        cuda_compiler=None,
        gpus=[],
        free_bytes=2**40,
        is_measuring=False,
        lock="",
        dask=[],
    )
    return msgspec.structs.replace(made, **changes)


@dataclass
class FakeHosts:
    """Stands for `Connection`.

    Attributes:
        tmp_path: for results that are made up.
        of: shards of the fleet.
        there: hosts, and their addresses.
        behaves: of a host and a shard what comes back: `well`, `fails`, `lost`, `torn`, `never`, `stopped`.
        kept_by: what hosts keep when they come.
        given: what was given to whom, in order.
        forgotten, stopped: what hosts were asked to.
        said: what a host that fails says.
        known: what a look at the workers finds.
        unfit: workers that are given nothing, and why.
        before: is called before hosts are looked for, with how often they were.
    """

    tmp_path: Path
    of: int
    there: dict[str, str]
    behaves: Callable[[str, int], str] = lambda host, shard: "well"
    kept_by: dict[str, KeptShards] = field(default_factory=dict)
    given: list[tuple[str, int]] = field(default_factory=list)
    forgotten: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    said: str = "no room"
    before: Callable[[FakeHosts, int], None] = lambda hosts, times: None
    known: Known | None = None
    unfit: dict[str, str] = field(default_factory=dict)
    looks: int = 0
    waiting: list[tuple[str, int]] = field(default_factory=list)

    def __enter__(self) -> FakeHosts:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def workers(self) -> list[Known]:
        return [] if self.known is None else [self.known]

    def ask_for_facts(self, address: str) -> Facts | None:
        return None if self.known is None else self.known.facts

    def may_steal(self) -> bool:
        return True

    def hosts(self) -> dict[str, str]:
        self.looks += 1
        self.before(self, self.looks)
        return dict(self.there)

    def refused(self) -> dict[str, str]:
        return self.unfit

    def kept(self, address: str, fleet: str) -> KeptShards:
        host = next(name for name, one in self.there.items() if one == address)
        return self.kept_by.get(host, KeptShards(host=host, shards=[], begun=[]))

    def begin(self, address: str, host: str, request: Request) -> None:
        assert self.there[host] == address
        self.given.append((host, request.shard))
        self.waiting.append((host, request.shard))

    def wait(self, seconds: float) -> list[Told]:
        found, self.waiting = self.waiting, []
        self.waiting = [one for one in found if self.behaves(*one) == "never"]
        return [self._told(*one) for one in found if one not in self.waiting]

    def give_up(self, host: str) -> None:
        self.waiting = [one for one in self.waiting if one[0] != host]

    def forget(self, address: str, fleet: str, shards: list[int]) -> None:
        self.forgotten.append((address, tuple(shards)))

    def stop(self, fleet: str) -> None:
        self.stopped.append(fleet)

    def _told(self, host: str, shard: int) -> Told:
        behaviour = self.behaves(host, shard)
        if behaviour == "lost":
            return Told(host, shard, None)
        if behaviour == "fails":
            return Told(host, shard, delivery(host, shard, outcome="failed", exit_code=2, told=self.said))
        if behaviour == "stopped":
            return Told(host, shard, delivery(host, shard, outcome="stopped", exit_code=None))
        files = results(self.tmp_path, shard, self.of)
        if behaviour == "torn":
            files[run_folder.SAMPLES_FILE] = files[run_folder.SAMPLES_FILE].replace(b"0.5", b"0.6", 1)
        return Told(host, shard, delivery(host, shard, files))


def shards_on_disk(folder: Path) -> dict[int, str]:
    """Return the host of each shard that is on the client's disk."""
    return {shard: arrival.host for shard, arrival in plan_folder.arrivals(folder).items()}


def samples_of(folder: Path, shard: int) -> int:
    """Return how many samples a shard has."""
    text = (plan_folder.folder_of(folder, shard) / run_folder.SAMPLES_FILE).read_text(encoding="utf-8")
    lines = map(json.loads, text.splitlines())
    return sum(len(one) for line in lines for one in line.get("samples", {}).values())

"""A fleet from its plan to one folder of results: shards are given to hosts one at a time, taken in, and merged.

What one host loses or fails at, another is given.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyopbench.engine.fleet import folder as fleet_folder
from pyopbench.engine.fleet.folder import FleetPlan
from pyopbench.engine.fleet.host import LONGEST_WORDS, Delivery, Request, SentFile, ShardStopped
from pyopbench.engine.fleet.scheduler import Scheduler, Tell
from pyopbench.judge.machines import HostResults, odd_hosts, results_by_host
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store.fleet_findings import FleetEvent, Kind, OddHost
from pyopbench.store.merge import merge

MERGED = "merged"
"""Where in the folder of a fleet all its shards are put together."""
WAIT_SECONDS = 1.0
"""Between two times that it is asked who is there."""
GONE = ("cancelled", "lost")
"""States of a future when the scheduler, or the host, is gone."""
RESULT_SECONDS = 30.0
"""How long a result may take to come, which is in the memory of its host."""
HOST_FAILURES = 2
"""Shards in a row that a host may fail at before it is given no more: a full disk, for example."""
SHARD_FAILURES = 3
"""Hosts that may fail at a shard before it is given up: then it is the shard."""


@dataclass(frozen=True)
class Snapshot:
    """How far a fleet is.

    Attributes:
        done: shards that are here.
        of: how many there are.
        running: the shard of each host, and for how many seconds it has been at it.
        idle: hosts that have none.
        seconds_left: about how long it will still take; None where no shard is here yet that was measured now.
    """

    done: int
    of: int
    running: dict[str, tuple[int, float]]
    idle: tuple[str, ...]
    seconds_left: float | None


@dataclass(frozen=True)
class FleetResult:
    """What came of a fleet.

    Attributes:
        missing: shards that are not here: they failed on several hosts, or on all that there are.
        odd: hosts that are unlike the others.
        merged: the folder with all shards.
        is_wrong: whether a variant was found wrong.
    """

    missing: tuple[int, ...]
    odd: tuple[OddHost, ...]
    merged: Path
    is_wrong: bool


@dataclass(frozen=True)
class Rules:
    """How a fleet is run.

    Attributes:
        tell: is called with what happens.
        show: is called with how far it is, about once a second.
        without: hosts that are given nothing.
        patience_seconds: how long to wait for a host, where there is none.
        clock: seconds.
    """

    tell: Tell
    show: Callable[[Snapshot], None] = lambda snapshot: None
    without: tuple[str, ...] = ()
    patience_seconds: float = 60.0
    clock: Callable[[], float] = time.monotonic


def shards_of(scheduler: Scheduler, shards: int | None, replicates: int) -> int:
    """Return how many shards a fleet has: as many as are asked for, or one for each host.

    Raises:
        BadInput: replicates do not fit the shards.
        NothingMeasured: there is no host to count shards by.
    """
    if shards is None:
        hosts = len(scheduler.hosts())
        if not hosts:
            raise no_host(
                scheduler.refused(), "no worker with the resource measure=1; with --shards N, hosts may join later"
            )
        shards = -(-hosts // replicates) * replicates
    if shards % replicates:
        raise BadInput(
            "the number of shards is not a multiple of the replicates, so some units would be measured more often",
            received=f"--shards {shards} with --settings replicates={replicates}",
            hint=f"for example --shards {shards * replicates}",
        )
    return shards


def measure_fleet(folder: Path, files: Sequence[SentFile], scheduler: Scheduler, rules: Rules) -> FleetResult:
    """Measure what is missing of a fleet, compare what the hosts have measured, and merge all shards.

    Raises:
        BadInput: another client runs this fleet.
        NothingMeasured: there is no host, or no shard came of it.
        WorkerLost: the scheduler is gone; what came is kept.
    """
    with fleet_folder.locked(folder):
        missing = Dispatch(folder, files, scheduler, rules).run()
    here = fleet_folder.arrivals(folder)
    if not here:
        raise NothingMeasured(
            "no shard was measured",
            received=f"{folder}: all of them failed",
            hint="try one shard on a host by hand: pyopbench run with the same options and --shard 1/N",
        )
    results = results_by_host({shard: (host, fleet_folder.folder_of(folder, shard)) for shard, host in here.items()})
    merged, number = folder / MERGED, 1
    while merged.exists():  # one with holes, from before more shards came
        number += 1
        merged = folder / f"{MERGED}-{number}"
    merge([fleet_folder.folder_of(folder, shard) for shard in here], merged, allow_missing=bool(missing))
    return FleetResult(missing, tuple(odd_hosts(results)), merged, _is_wrong(results))


def _is_wrong(results: Mapping[str, HostResults]) -> bool:
    return any(found.wrong for found in results.values())


@dataclass
class _Host:
    """A host that is there.

    Attributes:
        address: of its worker.
        kept: finished shards that it has not handed over.
        begun: shards that it can continue.
        shard: that it is at; None if it is free.
        future: of that shard.
        began: when it was given that.
    """

    address: str
    kept: set[int] = field(default_factory=set)
    begun: set[int] = field(default_factory=set)
    shard: int | None = None
    future: Any = None
    began: float = 0.0


class Dispatch:
    """Gives out what is missing of a fleet.

    Args:
        folder: of the fleet, on this machine.
        files: that are sent along.
        scheduler: that the hosts are reached by.
        rules: how it is run.
    """

    def __init__(self, folder: Path, files: Sequence[SentFile], scheduler: Scheduler, rules: Rules) -> None:
        self._folder, self._files, self._scheduler = folder, tuple(files), scheduler
        self._rules, self._tell, self._clock = rules, rules.tell, rules.clock
        self._plan: FleetPlan = fleet_folder.read_plan(folder)
        self._here = fleet_folder.arrivals(folder)
        self._open = set(range(1, self._plan.shards + 1)) - set(self._here)
        self._hosts: dict[str, _Host] = {}
        self._failed: dict[int, set[str]] = defaultdict(set)
        self._strikes: dict[str, int] = defaultdict(int)
        self._set_aside: dict[str, str] = {}
        self._given_up: set[int] = set()
        self._seconds: list[float] = []

    def run(self) -> tuple[int, ...]:
        """Go on until every shard is here or was given up, and return those; interrupted, hosts are told to stop.

        Raises:
            NothingMeasured: there is no host, or none is left.
            CannotStore: this machine's disk is full.
            WorkerLost: the scheduler is gone.
        """
        alone_since = self._clock()
        try:
            while self._open:
                self._meet(self._scheduler.hosts())
                self._give_out()
                busy = [(name, host) for name, host in self._hosts.items() if host.future is not None]
                if busy:
                    alone_since = self._clock()
                elif self._usable():
                    self._give_up_what_failed_everywhere()
                elif self._clock() - alone_since > self._rules.patience_seconds:
                    raise self._no_host()
                if self._open:
                    self._scheduler.wait([host.future for _, host in busy], WAIT_SECONDS)
                for name, host in busy:
                    if host.future.status != "pending":
                        self._take(name, host)
                self._rules.show(self._snapshot())
        except BaseException:
            self._scheduler.stop(self._plan.fleet)
            raise
        for host in self._hosts.values():
            self._scheduler.forget(host.address, self._plan.fleet, [])
        return tuple(sorted(self._given_up))

    def _meet(self, there: dict[str, str]) -> None:
        """Note who has come and who has gone; a worker that was started again is another one."""
        for name, host in list(self._hosts.items()):
            if there.get(name) != host.address:
                del self._hosts[name]
                if host.future is not None:
                    host.future.release()
                self._tell(FleetEvent("lost", name, host.shard or 0))
        for name, address in there.items():
            if name in self._hosts or name in self._rules.without:
                continue
            kept = self._scheduler.kept(address, self._plan.fleet)
            if kept is not None:
                finished, begun = kept
                self._hosts[name] = _Host(address, set(finished) & self._open, set(begun))

    def _usable(self) -> dict[str, _Host]:
        return {name: host for name, host in self._hosts.items() if name not in self._set_aside}

    def _give_out(self) -> None:
        plan = self._plan
        for name, host in self._usable().items():
            shard = None if host.future is not None else self._next_for(name, host)
            if shard is not None:
                request = Request(plan.fleet, shard, plan.shards, tuple(plan.words), tuple(plan.own_words), self._files)
                host.shard, host.began = shard, self._clock()
                host.future = self._scheduler.submit(host.address, request)

    def _next_for(self, name: str, host: _Host) -> int | None:
        """Return the shard that a host is given: one that it has finished, one that it has begun, or a new one."""
        finished = sorted(host.kept & self._open)
        if finished:
            return finished[0]
        running = {one.shard for one in self._hosts.values()}
        able = [shard for shard in self._open - running if name not in self._failed[shard]]
        free = [shard for shard in able if not self._has_part(name, shard)]
        begun_elsewhere = {shard for other in self._hosts.values() if other is not host for shard in other.begun}
        return min(free, key=lambda shard: (shard not in host.begun, shard in begun_elsewhere, shard), default=None)

    def _has_part(self, name: str, shard: int) -> bool:
        """Whether a host has measured the part of a shard, of which others are to be on other hosts."""
        if self._plan.replicates == 1 or len(self._usable()) < self._plan.replicates:
            return False
        part = self._plan.part_of(shard)
        return any(self._plan.part_of(one) == part for one, host in self._here.items() if host == name)

    def _take(self, name: str, host: _Host) -> None:
        """Take in what a host has delivered, or note what became of its shard instead."""
        shard, future = host.shard, host.future
        assert shard is not None  # it has a future
        host.shard = host.future = None
        host.kept.discard(shard)
        status = future.status
        if status in GONE:  # whoever is free is given it
            return
        try:
            delivery: Delivery = future.result(timeout=RESULT_SECONDS)
        except ShardStopped:
            return
        except Exception as error:  # noqa: BLE001 - Dask raises here what the host raised, and what went wrong on the way
            # Its host may have gone since it was finished, and with it the result: then it is lost, and no failure.
            if future.status == status:
                self._fail(name, shard, (str(error) or type(error).__name__)[-LONGEST_WORDS:])
            return
        finally:
            future.release()
        try:
            is_new = fleet_folder.take_in(self._folder, shard, delivery.files)
        except BadInput as error:
            self._fail(name, shard, error.in_a_line)
            self._scheduler.forget(host.address, self._plan.fleet, [shard])  # what it keeps is no better the next time
            return
        self._strikes[name] = 0
        if is_new:
            self._here[shard] = name
            self._open.discard(shard)
            self._seconds.append(delivery.seconds)
        kind: Kind = "arrived" if is_new else "doubled"
        self._tell(FleetEvent(kind, name, shard, delivery.seconds))
        self._scheduler.forget(host.address, self._plan.fleet, [shard])

    def _fail(self, name: str, shard: int, why: str) -> None:
        self._tell(FleetEvent("failed", name, shard, told=why))
        self._failed[shard].add(name)
        self._strikes[name] += 1
        if self._strikes[name] >= HOST_FAILURES:
            self._set_aside[name] = why
            self._tell(FleetEvent("set_aside", name, told=why))
        if len(self._failed[shard]) >= SHARD_FAILURES:
            self._give_up(shard)

    def _give_up_what_failed_everywhere(self) -> None:
        """Give up what no host that is left can be given, when all of them are free and would take anything else."""
        for shard in sorted(self._open):
            if all(name in self._failed[shard] or self._has_part(name, shard) for name in self._usable()):
                self._give_up(shard)

    def _give_up(self, shard: int) -> None:
        self._open.discard(shard)
        self._given_up.add(shard)
        self._tell(FleetEvent("given_up", shard=shard))

    def _snapshot(self) -> Snapshot:
        now = self._clock()
        running = {name: (host.shard, now - host.began) for name, host in self._hosts.items() if host.shard is not None}
        idle = tuple(name for name, host in self._usable().items() if host.shard is None)
        left = None
        if self._seconds and running:
            typical = sum(self._seconds) / len(self._seconds)
            at = sum(min(seconds, typical) for _, seconds in running.values())
            left = max((len(self._open) * typical - at) / len(running), 0.0)
        return Snapshot(len(self._here), self._plan.shards, running, idle, left)

    def _no_host(self) -> NothingMeasured:
        return no_host(
            {**self._scheduler.refused(), **self._set_aside},
            f"no worker with the resource measure=1 in {self._rules.patience_seconds:g} s",
        )


def no_host(why_not: Mapping[str, str], otherwise: str) -> NothingMeasured:
    """Return the error for a fleet without a host; with why those measure nothing that are there."""
    return NothingMeasured(
        "there is no host that measures",
        received="; ".join(f"{name}: {why}" for name, why in why_not.items()) or otherwise,
        hint="start one with the pyopbench of this machine: dask worker ADDRESS --nthreads 1 --resources measure=1; "
        "pyopbench fleet doctor --scheduler ADDRESS shows what is there, and what it lacks",
    )

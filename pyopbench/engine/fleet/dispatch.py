"""Gives the shards of a fleet to its hosts, one at a time each; what one host loses another is given."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyopbench.engine.fleet import plan_folder
from pyopbench.engine.fleet.answers import Told
from pyopbench.engine.fleet.connection import Connection, Tell
from pyopbench.engine.fleet.messages import Request, SentFile
from pyopbench.engine.fleet.plan_folder import FleetPlan
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store.fleet_findings import FleetEvent, Kind

WAIT_SECONDS = 1.0
"""Between looks at who is there."""
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
class FleetEnd:
    """How a fleet ended.

    Attributes:
        missing: shards that are not here: they failed on several hosts, or on all that there are.
        set_aside: hosts that were given no more, and what the last failure said.
    """

    missing: tuple[int, ...]
    set_aside: dict[str, str]


@dataclass
class _Host:
    """What is known of a host that is there.

    Attributes:
        address: of its worker.
        kept: finished shards that it has not handed over.
        begun: shards that it can continue.
        shard: that it is at; None if it is free.
        began: when it was given that.
    """

    address: str
    kept: set[int] = field(default_factory=set)
    begun: set[int] = field(default_factory=set)
    shard: int | None = None
    began: float = 0.0


@dataclass(frozen=True)
class Watch:
    """Who follows a fleet.

    Attributes:
        tell: is told what happens.
        show: is shown how far it is, about once a second.
    """

    tell: Tell
    show: Callable[[Snapshot], None]


@dataclass(frozen=True)
class Rules:
    """How shards are given out.

    Attributes:
        without: hosts that are given nothing.
        patience_seconds: how long to wait for a host, where there is none.
        clock: seconds.
    """

    without: tuple[str, ...] = ()
    patience_seconds: float = 60.0
    clock: Callable[[], float] = time.monotonic


class Dispatch:
    """Gives out what is missing of a fleet.

    Args:
        folder: of the fleet, on this machine.
        files: that are sent along.
        connection: to the hosts.
        watch: who follows it.
        rules: how shards are given out.
    """

    def __init__(
        self, folder: Path, files: Sequence[SentFile], connection: Connection, watch: Watch, rules: Rules
    ) -> None:
        self._folder, self._files, self._connection = folder, list(files), connection
        self._tell, self._show, self._rules, self._clock = watch.tell, watch.show, rules, rules.clock
        self._plan: FleetPlan = plan_folder.read_plan(folder)
        self._here = {shard: arrival.host for shard, arrival in plan_folder.arrivals(folder).items()}
        self._open = set(range(1, self._plan.shards + 1)) - set(self._here)
        self._hosts: dict[str, _Host] = {}
        self._failed: dict[int, set[str]] = defaultdict(set)
        self._strikes: dict[str, int] = defaultdict(int)
        self._set_aside: dict[str, str] = {}
        self._given_up: set[int] = set()
        self._seconds: list[float] = []

    def run(self) -> FleetEnd:
        """Go on until every shard is here or was given up; interrupted, hosts are told to stop.

        Raises:
            NothingMeasured: there is no host, or none is left.
            CannotStore: this machine's disk is full.
            WorkerLost: the scheduler is gone.
        """
        alone_since = self._clock()
        try:
            while self._open:
                self._meet(self._connection.hosts())
                self._give_out()
                if any(host.shard is not None for host in self._hosts.values()):
                    alone_since = self._clock()
                elif self._usable():
                    self._give_up_what_failed_everywhere()
                elif self._clock() - alone_since > self._rules.patience_seconds:
                    raise self._no_host()
                for told in self._connection.wait(WAIT_SECONDS) if self._open else ():
                    self._take(told)
                self._show(self._snapshot())
        except BaseException:
            self._connection.stop(self._plan.fleet)
            raise
        for host in self._hosts.values():
            self._connection.forget(host.address, self._plan.fleet, [])
        return FleetEnd(tuple(sorted(self._given_up)), dict(self._set_aside))

    def _meet(self, there: dict[str, str]) -> None:
        """Note who has come and who has gone; a worker that was started again is another one."""
        for name, host in list(self._hosts.items()):
            if there.get(name) != host.address:
                del self._hosts[name]
                self._connection.give_up(name)
                self._tell(FleetEvent("lost", name, host.shard or 0))
        for name, address in there.items():
            if name in self._hosts or name in self._rules.without:
                continue
            kept = self._connection.kept(address, self._plan.fleet)
            if kept is not None:
                self._hosts[name] = _Host(address, set(kept.shards) & self._open, set(kept.begun))

    def _usable(self) -> dict[str, _Host]:
        return {name: host for name, host in self._hosts.items() if name not in self._set_aside}

    def _give_out(self) -> None:
        for name, host in self._usable().items():
            shard = None if host.shard is not None else self._next_for(name, host)
            if shard is not None:
                host.shard, host.began = shard, self._clock()
                plan = self._plan
                request = Request(
                    fleet=plan.fleet,
                    shard=shard,
                    of=plan.shards,
                    words=plan.words,
                    own_words=plan.own_words,
                    files=self._files,
                )
                self._connection.begin(host.address, name, request)

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
        """Whether a host has measured, or measures, the part of a shard, of which others are to be on other hosts."""
        if self._plan.replicates == 1 or len(self._usable()) < self._plan.replicates:
            return False
        part = self._plan.part_of(shard)
        return any(self._plan.part_of(one) == part for one, host in self._here.items() if host == name)

    def _take(self, told: Told) -> None:
        host = self._hosts.get(told.host)
        if host is not None and host.shard == told.shard:
            host.shard = None
            host.kept.discard(told.shard)
        delivery = told.delivery
        if delivery is None and not told.error:  # lost on the way: whoever is free is given it
            return
        if delivery is None or delivery.outcome != "measured":
            if delivery is None or delivery.outcome == "failed":
                self._fail(told, told.error if delivery is None else delivery.told)
            return
        try:
            is_new = plan_folder.take_in(self._folder, delivery)
        except BadInput as error:
            self._fail(told, error.in_a_line)
            if host is not None:  # what it keeps is no better the next time
                self._connection.forget(host.address, self._plan.fleet, [told.shard])
            return
        self._strikes[told.host] = 0
        if is_new:
            self._here[told.shard] = told.host
            self._open.discard(told.shard)
            self._seconds.append(delivery.seconds)
        kind: Kind = "arrived" if is_new else "doubled"
        self._tell(FleetEvent(kind, told.host, told.shard, delivery.seconds))
        if host is not None:
            self._connection.forget(host.address, self._plan.fleet, [told.shard])

    def _fail(self, told: Told, why: str) -> None:
        self._tell(FleetEvent("failed", told.host, told.shard, told=why))
        self._failed[told.shard].add(told.host)
        self._strikes[told.host] += 1
        if self._strikes[told.host] >= HOST_FAILURES:
            self._set_aside[told.host] = why
            self._tell(FleetEvent("set_aside", told.host, told=why))
        if len(self._failed[told.shard]) >= SHARD_FAILURES:
            self._give_up(told.shard)

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
            {**self._connection.refused(), **self._set_aside},
            f"no worker with the resource measure=1 in {self._rules.patience_seconds:g} s",
        )


def no_host(why_not: Mapping[str, str], otherwise: str) -> NothingMeasured:
    """Return the error for a fleet without a host; with why those measure nothing that are there."""
    return NothingMeasured(
        "there is no host that measures",
        received="; ".join(f"{name}: {why}" for name, why in why_not.items()) or otherwise,
        legal="at least one host with the pyopbench of this machine: dask worker ADDRESS --nthreads 1 "
        "--resources measure=1",
        hint="pyopbench fleet doctor --scheduler ADDRESS shows what is there, and what it lacks",
    )

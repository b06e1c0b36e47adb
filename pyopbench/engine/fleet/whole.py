"""A fleet from its command to one folder of results: begun, run, looked at by host, merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

import pyopbench
from pyopbench.engine.fleet import plan_folder
from pyopbench.engine.fleet.connection import Connection
from pyopbench.engine.fleet.dispatch import Dispatch, FleetEnd, Rules, Watch, no_host
from pyopbench.engine.fleet.messages import SentFile
from pyopbench.engine.fleet.plan_folder import FleetPlan, PlannedFile
from pyopbench.engine.fleet.sent_files import read_sent
from pyopbench.engine.plan import new_folder
from pyopbench.judge.odd_hosts import odd_hosts, results_by_host
from pyopbench.model.errors import BadInput, NothingMeasured
from pyopbench.store.fleet_findings import OddHost
from pyopbench.store.merge import merge

MERGED = "merged"
"""Where in the folder of a fleet all its shards are put together."""


@dataclass(frozen=True)
class FleetRequest:
    """What a fleet is asked to measure.

    Attributes:
        words: of `pyopbench run`, besides the shard and the folder.
        own_words: that a run with own ops is continued with.
        replicates: how many shards measure each part.
        files: that are sent along.
        shards: how many; one for each host if None.
    """

    words: tuple[str, ...]
    own_words: tuple[str, ...]
    replicates: int
    files: tuple[SentFile, ...]
    shards: int | None = None


@dataclass(frozen=True)
class FleetResult:
    """What came of a fleet.

    Attributes:
        end: how it ended.
        odd: hosts that are unlike the others.
        merged: the folder with all shards.
        is_wrong: whether a variant was found wrong.
    """

    end: FleetEnd
    odd: tuple[OddHost, ...]
    merged: Path
    is_wrong: bool


def begin(folder: Path | None, request: FleetRequest, connection: Connection) -> Path:
    """Make the folder of a fleet and return it.

    Raises:
        BadInput: the folder holds one already; there is no host to count shards by; or replicates do not fit them.
    """
    shards = request.shards or _one_for_each(connection, request.replicates)
    if shards % request.replicates:
        raise BadInput(
            "the shards are no multiple of the replicates, so that parts would be measured unequally often",
            received=f"--shards {shards} with --settings replicates={request.replicates}",
            legal=f"a multiple of {request.replicates}",
            hint=f"for example --shards {shards * request.replicates}",
        )
    folder = folder or new_folder()
    plan = FleetPlan(
        schema=plan_folder.SCHEMA,
        fleet=plan_folder.new_id(),
        words=list(request.words),
        own_words=list(request.own_words),
        shards=shards,
        replicates=request.replicates,
        files=[PlannedFile(text=file.text, sha256=file.sha256) for file in request.files],
        pyopbench=pyopbench.__version__,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
    plan_folder.create(folder, plan)
    return folder


def _one_for_each(connection: Connection, replicates: int) -> int:
    hosts = len(connection.hosts())
    if not hosts:
        raise no_host(
            connection.refused(), "no worker with the resource measure=1; with --shards N hosts may come later"
        )
    return -(-hosts // replicates) * replicates


def read_files(folder: Path) -> list[SentFile]:
    """Return the files that a fleet was begun with, read again from where they are.

    Raises:
        BadInput: one is not there, or is another one now.
    """
    planned = plan_folder.read_plan(folder).files
    found = read_sent([one.text for one in planned])
    for then, now in zip(planned, found, strict=True):
        if then.sha256 != now.sha256:
            raise BadInput(
                "a file that the fleet sends is another one now",
                received=then.text,
                legal="the file as it was when the fleet was begun",
                hint="restore it, or start a new fleet",
            )
    return found


def go_on(folder: Path, files: Sequence[SentFile], connection: Connection, watch: Watch, rules: Rules) -> FleetResult:
    """Measure what is missing of a fleet, look at what each host has measured, and merge all shards.

    Raises:
        BadInput: another client runs this fleet.
        NothingMeasured: there is no host, or no shard came of it.
        WorkerLost: the scheduler is gone; what came is kept.
    """
    with plan_folder.locked(folder):
        end = Dispatch(folder, files, connection, watch, rules).run()
    arrivals = plan_folder.arrivals(folder)
    if not arrivals:
        raise NothingMeasured(
            "no shard was measured",
            received=f"{folder}: all of them failed",
            legal="at least one shard",
            hint="try one shard on a host by hand: pyopbench run with the same options and --shard 1/N",
        )
    places = {shard: (arrival.host, plan_folder.folder_of(folder, shard)) for shard, arrival in arrivals.items()}
    odd = tuple(odd_hosts(results_by_host(places)))
    merged = _merged(folder, [path for _, path in places.values()], allow_missing=bool(end.missing))
    return FleetResult(end, odd, merged, any(arrival.exit_code == 1 for arrival in arrivals.values()))


def _merged(folder: Path, shards: Sequence[Path], *, allow_missing: bool) -> Path:
    """Put shards together in a new folder; one with holes, from before more shards came, is kept beside it."""
    out, number = folder / MERGED, 1
    while out.exists():
        number += 1
        out = folder / f"{MERGED}-{number}"
    merge(shards, out, allow_missing=allow_missing)
    return out

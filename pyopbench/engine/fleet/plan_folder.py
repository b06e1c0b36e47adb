"""The folder of a fleet on the client: what is measured, and the shards that have come back, each whole or not at all.

`fleet.json` holds what the hosts are asked to measure, `shards/3/` the results of shard 3, as `run --shard 3/40` leaves
them, `shards/3.json` which host they are of, and `left-out/` the shards of hosts whose part was left out.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from pyopbench.engine.fleet.messages import Delivery, FleetId, HostName, NotNegative, Number, Sha256
from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.model.write_file import opened_folder, sync_folder, write_atomically
from pyopbench.store import integrity, run_folder, versions
from pyopbench.store.open_file import BESIDE, read_bytes
from pyopbench.store.strict_json import parse
from pyopbench.store.validation import converted, corrupt

FLEET_FILE = "fleet.json"
SHARDS, LEFT_OUT = "shards", "left-out"
SCHEMA = 1


class PlannedFile(Struct, frozen=True, kw_only=True):
    """A file that is sent, by its hash; what is in it stays where it is."""

    text: str
    sha256: Sha256


class FleetPlan(Struct, frozen=True, kw_only=True):
    """What the hosts of a fleet are asked to measure.

    Attributes:
        schema: of the file.
        fleet: its id, under which hosts keep what they measure.
        words: of `pyopbench run`, besides the shard and the folder.
        own_words: that a run with own ops is continued with.
        shards: how many there are.
        replicates: how many of them measure each part.
        files: that are sent along.
        pyopbench: version of the client.
        created: when it was begun, ISO 8601.
    """

    schema: int
    fleet: FleetId
    words: list[str]
    own_words: list[str]
    shards: Number
    replicates: Number
    files: list[PlannedFile]
    pyopbench: str
    created: str

    def part_of(self, shard: int) -> int:
        """Return which part of the plan a shard measures, from 0."""
        return (shard - 1) % (self.shards // self.replicates)


class Arrival(Struct, frozen=True, kw_only=True):
    """Which host a shard is of.

    Attributes:
        host: its name.
        seconds: that it took there.
        exit_code: of the process that measured.
    """

    host: HostName
    seconds: NotNegative
    exit_code: int | None


def new_id() -> str:
    """Return the id of a new fleet."""
    return secrets.token_hex(8)


def require_new(folder: Path) -> None:
    """Check that a folder holds no fleet yet.

    Raises:
        BadInput: it holds a fleet or a run already, or cannot be written to.
    """
    if (folder / FLEET_FILE).exists():
        raise BadInput(
            "the output folder holds a fleet already",
            received=folder,
            legal="an empty or new folder",
            hint=f"choose another --out, or continue it: pyopbench fleet resume {folder} --scheduler ADDRESS",
        )
    run_folder.require_new(folder)


def create(folder: Path, plan: FleetPlan) -> None:
    """Make the folder of a fleet.

    Raises:
        BadInput: as `require_new`.
    """
    require_new(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SHARDS).mkdir()
    content = msgspec.json.format(msgspec.json.encode(plan), indent=1)
    write_atomically(folder / FLEET_FILE, integrity.sealed(content.decode()))


def read_plan(folder: Path) -> FleetPlan:
    """Return what a fleet was asked to measure.

    Raises:
        BadInput: there is no such file, or it is none of this schema.
    """
    path = folder / FLEET_FILE
    try:
        content = read_bytes(path, BESIDE)
        plan = converted(parse(content), FleetPlan, str(path))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput(
            f"not a folder of a fleet: it holds no {FLEET_FILE}",
            received=folder,
            legal="the folder of `pyopbench fleet run`",
            hint="a run on one machine is continued by: pyopbench resume DIR",
        ) from error
    except (ValueError, RecursionError) as error:
        raise corrupt(str(path), f"not JSON ({error})") from error
    if plan.schema != SCHEMA or plan.shards % plan.replicates:
        raise corrupt(str(path), f"schema {plan.schema}, {plan.shards} shards, {plan.replicates} for each part")
    integrity.require_whole(path, content, "restore the file, or begin another fleet with another --out")
    return plan


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other client from running the fleet of a folder.

    Raises:
        BadInput: another one does.
    """
    with opened_folder(folder) as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadInput(
                "another process is running the fleet of this folder",
                received=folder,
                legal="a fleet that nobody is running",
                hint="wait for that process or end it, or choose another --out",
            ) from error
        yield


def folder_of(folder: Path, shard: int) -> Path:
    """Return where the results of a shard are, or will be."""
    return folder / SHARDS / str(shard)


def arrivals(folder: Path) -> dict[int, Arrival]:
    """Return the shards that are here, each with the host that it is of.

    Raises:
        BadInput: what is said of one is not readable.
    """
    found = {}
    for path in (folder / SHARDS).iterdir():
        if path.name.isdigit() and path.is_dir():
            beside = path.with_name(f"{path.name}.json")
            try:
                content = read_bytes(beside, BESIDE)
                found[int(path.name)] = converted(parse(content), Arrival, str(beside))
                integrity.require_whole(beside, content, "")
            except (OSError, ValueError, BadInput) as error:
                raise BadInput(
                    "it cannot be read which host a shard of the fleet is of",
                    received=f"{beside}: {error.received if isinstance(error, BadInput) else error}",
                    legal="the file as it was written when the shard arrived",
                    hint=f"restore it, or have the shard measured again: remove {path}",
                ) from error
    return dict(sorted(found.items()))


def take_in(folder: Path, delivery: Delivery) -> bool:
    """Write the results of a shard to the disk, all of them or nothing; return False if they were here already.

    Raises:
        BadInput: they are no results, or not those of the shard.
        CannotStore: they cannot be written.
    """
    target = folder_of(folder, delivery.shard)
    if target.is_dir() and not target.is_symlink():
        return False
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        _write(scratch, delivery.files)
        for part in _runs_in(scratch):
            _check(part, delivery)
        arrival = Arrival(host=delivery.host, seconds=delivery.seconds, exit_code=delivery.exit_code)
        write_atomically(
            target.with_name(f"{target.name}.json"), integrity.sealed(msgspec.json.encode(arrival).decode())
        )
        os.rename(scratch, target)
        with opened_folder(target.parent) as opened:
            sync_folder(opened)
    except OSError as error:
        raise CannotStore(
            "a shard that came back cannot be stored; the host keeps it",
            received=error,
            legal="a disk with room, and a folder that one may write to",
            hint=f"make room, then continue: pyopbench fleet resume {folder} --scheduler ADDRESS",
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True


def leave_out(folder: Path, hosts: Sequence[str]) -> list[int]:
    """Put the shards of some hosts aside, to be measured again by others, and return their numbers."""
    gone = [shard for shard, arrival in arrivals(folder).items() if arrival.host in hosts]
    for shard in gone:
        aside = folder / LEFT_OUT / f"{shard}-{secrets.token_hex(4)}"
        aside.parent.mkdir(exist_ok=True)
        os.rename(folder_of(folder, shard), aside)
        (folder / SHARDS / f"{shard}.json").unlink()
    return gone


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, content)


def _runs_in(folder: Path) -> list[Path]:
    return [one.folder for one in versions.read(folder)] if versions.is_here(folder) else [folder]


def _check(folder: Path, delivery: Delivery) -> None:
    """Check that results are whole, and of the shard that was asked for."""
    run = run_folder.read_run(folder)
    lines, warnings = run_folder.read_lines(folder)
    run_folder.require_unchanged([*run_folder.changes(folder), *warnings])
    if run["cases"] and not any(line["kind"] == "ended" for line in lines):
        raise BadInput(
            "a host sent a shard that is not measured to the end",
            received=f"shard {delivery.shard} of {delivery.host}, {len(lines):,} lines",
            legal="samples with a line that says that measuring ended",
            hint="look into what that host lacks: pyopbench fleet doctor",
        )
    shard = run.get("shard")
    if shard is None or shard["index"] != delivery.shard:
        raise BadInput(
            "a host sent other results than those of the shard that it was asked for",
            received=f"shard {shard and shard['index']} of {delivery.host}",
            legal=f"shard {delivery.shard}",
            hint="install the same pyopbench everywhere: pyopbench fleet doctor",
        )

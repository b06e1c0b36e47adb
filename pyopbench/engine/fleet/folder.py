"""The folder of a fleet on the client: what is measured, and the shards that have come back, each whole or not at all.

`fleet.json` holds what the hosts are asked to measure, `shards/3/` the results of shard 3, as `run --shard 3/40` leaves
them, and `left-out/` the shards of hosts whose results were left out.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

import pyopbench
from pyopbench.engine.fleet.host import RESULT_FILE, SentFile
from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.model.own_target import is_target, split_input
from pyopbench.model.write_file import opened_folder, sync_folder, write_atomically
from pyopbench.store import integrity, run_folder, run_sides
from pyopbench.store.line_types import EndedLine
from pyopbench.store.open_file import BESIDE, read_bytes
from pyopbench.store.strict_json import convert, parse

FLEET_FILE = "fleet.json"
SHARDS, LEFT_OUT = "shards", "left-out"

MIB = 2**20
MOST_SENT_BYTES = 4 * MIB
"""Of all files that are sent with a shard: sources and example inputs, not data sets."""
MOST_RETURNED_BYTES = 1024 * MIB
"""Of the folder of a shard, which has some megabytes."""
SENT_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"

Number = Annotated[int, Meta(ge=1, le=1_000_000)]


class PlannedFile(Struct, frozen=True, kw_only=True):
    """A file that is sent, by its hash; what is in it stays where it is."""

    text: str
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class FleetPlan(Struct, frozen=True, kw_only=True):
    """What the hosts of a fleet are asked to measure.

    Attributes:
        fleet: its id, under which hosts keep what they measure.
        words: of `pyopbench run`, besides the shard and the folder.
        own_words: that a run with own ops is continued with.
        shards: how many there are.
        replicates: how many of them measure each part.
        files: that are sent along.
        pyopbench: version of the client.
        created: when it was begun, ISO 8601.
    """

    fleet: Annotated[str, Meta(pattern=r"^[0-9a-f]{16}\Z")] = msgspec.field(
        default_factory=lambda: secrets.token_hex(8)
    )
    words: list[str]
    own_words: list[str]
    shards: Number
    replicates: Number = 1
    files: list[PlannedFile] = []
    pyopbench: str = pyopbench.__version__
    created: str = msgspec.field(default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds"))

    def part_of(self, shard: int) -> int:
        """Return which part of the plan a shard measures, from 0."""
        return (shard - 1) % (self.shards // self.replicates)


def require_new(folder: Path) -> None:
    """Check that a folder holds no fleet yet.

    Raises:
        BadInput: it holds a fleet or a run already, or cannot be written to.
    """
    if (folder / FLEET_FILE).exists():
        raise BadInput(
            "the output folder already contains a fleet",
            received=folder,
            hint=f"choose another --out, or continue it: pyopbench fleet resume {folder} --scheduler ADDRESS",
        )
    run_folder.require_new(folder)


def create(folder: Path, plan: FleetPlan) -> None:
    """Make the folder of a fleet; raises as `require_new`."""
    require_new(folder)
    (folder / SHARDS).mkdir(parents=True)
    content = msgspec.json.format(msgspec.json.encode(plan), indent=1)
    write_atomically(folder / FLEET_FILE, integrity.sealed(content.decode()))


def read_plan(folder: Path) -> FleetPlan:
    """Return what a fleet was asked to measure.

    Raises:
        BadInput: there is no such file, or it is not as it was written.
    """
    path = folder / FLEET_FILE
    try:
        content = read_bytes(path, BESIDE)
        plan = convert(parse(content), FleetPlan, str(path))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput(
            f"not a folder of a fleet: it has no {FLEET_FILE}",
            received=folder,
            hint="name the folder of `pyopbench fleet run`; a run on one machine is continued by: pyopbench resume DIR",
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadInput("not the plan of a fleet", received=f"{path}: {error}", hint="restore the file") from error
    if plan.shards % plan.replicates:
        raise BadInput(
            "not the plan of a fleet",
            received=f"{path}: {plan.shards} shards, {plan.replicates} for each unit",
            hint="restore the file",
        )
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
                hint="wait for that process or end it, or choose another --out",
            ) from error
        yield


def folder_of(folder: Path, shard: int) -> Path:
    """Return where the results of a shard are, or will be."""
    return folder / SHARDS / str(shard)


def arrivals(folder: Path) -> dict[int, str]:
    """Return the shards that are here, each with the host that it is of.

    Raises:
        BadInput: one cannot be read.
    """
    here = sorted(int(path.name) for path in (folder / SHARDS).iterdir() if path.name.isdigit() and path.is_dir())
    return {shard: _host_of(folder_of(folder, shard), shard) for shard in here}


def _host_of(results: Path, number: int) -> str:
    """Return which host has measured the results of a shard."""
    try:
        shard = run_folder.read_run(runs_in(results)[0]).shard
    except BadInput as error:
        raise BadInput(
            "a shard of the fleet cannot be read",
            received=f"{results}: {error.received}",
            hint=f"restore it, or have the shard measured again: remove {results}",
        ) from error
    if shard is None or shard.index != number:
        raise BadInput(
            "these are not the results of the requested shard",
            received=f"shard {shard and shard.index} for shard {number}",
            hint="install the same pyopbench everywhere: pyopbench fleet doctor",
        )
    return shard.host


def runs_in(results: Path) -> list[Path]:
    """Return the folders of the runs of a shard: one for each version of TensorFlow."""
    return run_sides.folders_of(results)


def take_in(folder: Path, shard: int, files: Mapping[str, bytes]) -> bool:
    """Write the results of a shard to the disk, all of them or nothing; return False if they were here already.

    Raises:
        BadInput: they are no results, or not those of the shard.
        CannotStore: they cannot be written.
    """
    target = folder_of(folder, shard)
    if target.is_dir() and not target.is_symlink():
        return False
    strange = [name for name in files if not RESULT_FILE.fullmatch(name)]
    if strange or sum(map(len, files.values())) > MOST_RETURNED_BYTES:
        raise BadInput(
            "a host sent files that no shard has",
            received=f"files named {', '.join(map(repr, strange))}"
            if strange
            else f"over {MOST_RETURNED_BYTES:,} bytes",
            hint="install the same pyopbench everywhere: pyopbench fleet doctor",
        )
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        scratch.mkdir()
        for name, content in files.items():
            (scratch / name).parent.mkdir(exist_ok=True)
            write_atomically(scratch / name, content)
        for run in runs_in(scratch):
            _check(run, shard)
        os.rename(scratch, target)
        with opened_folder(target.parent) as opened:
            sync_folder(opened)
    except OSError as error:
        raise CannotStore(
            "a shard that came back cannot be stored; the host keeps it",
            received=error,
            hint=f"make room, then continue: pyopbench fleet resume {folder} --scheduler ADDRESS",
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return True


def _check(results: Path, shard: int) -> None:
    """Check that results are whole, and of the shard that was asked for."""
    _host_of(results, shard)
    run = run_folder.read_run(results)
    lines, warnings = run_folder.read_lines(results)
    run_folder.require_unchanged([*run_folder.changes(results), *warnings])
    if run.cases and not any(isinstance(line, EndedLine) for line in lines):
        raise BadInput(
            "a host sent a shard that is not measured to the end",
            received=f"shard {shard}, {len(lines):,} lines",
            hint="pyopbench fleet doctor shows what that host lacks",
        )


def leave_out(folder: Path, hosts: Sequence[str]) -> list[int]:
    """Put the shards of some hosts aside, to be measured again by others, and return their numbers."""
    gone = [shard for shard, host in arrivals(folder).items() if host in hosts]
    for shard in gone:
        aside = folder / LEFT_OUT / f"{shard}-{secrets.token_hex(4)}"
        aside.parent.mkdir(exist_ok=True)
        os.rename(folder_of(folder, shard), aside)
    return gone


# The files that go to the hosts: those that the user names for it, by the hash of what is in them.


def read_sent(paths: Sequence[str], planned: Sequence[PlannedFile] = ()) -> list[SentFile]:
    """Return the files that the user sends; `planned` is what they have to be still.

    Raises:
        BadInput: one cannot be read, has a name that is none, is another one now, or all are too large.
    """
    files = [_read(text) for text in paths]
    total = sum(len(file.content) for file in files)
    if total > MOST_SENT_BYTES:
        raise BadInput(
            "the files to send are too large: they travel with every shard",
            received=f"{total:,} bytes, of at most {MOST_SENT_BYTES:,}",
            hint="put large files on every host, and read them there by an absolute path",
        )
    for then, now in zip(planned, files, strict=bool(planned)):
        if then.sha256 != now.sha256:
            raise BadInput(
                "a file that the fleet sends has changed",
                received=then.text,
                hint="restore it, or start a new fleet",
            )
    return files


def _read(text: str) -> SentFile:
    path = Path(text)
    if not re.fullmatch(SENT_NAME, path.name):
        raise _unreadable(text, "a name of other than letters, digits, dots, dashes and underscores")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(text, str(error.strerror)) from error
    return SentFile(text, path.name, hashlib.sha256(content).hexdigest(), content)


def _unreadable(text: str, why: str) -> BadInput:
    return BadInput("a file cannot be sent", received=f"--send {text}: {why}", hint="check the path")


def check_sent(ops: Sequence[str], inputs: Sequence[str], files: Sequence[SentFile]) -> None:
    """Check that own ops that are in a file, and inputs that are one of this folder, are sent.

    Raises:
        BadInput: one is not: files go to other machines only with the user's word.
    """
    texts = [file.text for file in files]
    for op in ops:
        place = op if op.endswith(".py") else op.partition(":")[0]
        if is_target(op) and place.endswith(".py") and place not in texts:
            raise _unsent("op", op, place)
    for text in inputs:
        place = split_input(text)[1]
        if place.endswith(".npy") and not Path(place).is_absolute() and place not in texts:
            raise _unsent("input", text, place)


def _unsent(what: str, received: str, place: str) -> BadInput:
    return BadInput(
        f"the {what} is in a file, and files go to other machines only if you say so",
        received=received,
        hint=f"--send {place}",
    )


def own_words(ops: Sequence[str], inputs: Sequence[str], seed_with: str) -> list[str]:
    """Return the words that name own ops and their inputs, which continuing a run needs again."""
    own = [op for op in ops if is_target(op)]
    given = [word for one in inputs for word in ("--input", one)]
    return [*own, *given, *(("--seed-with", seed_with) if seed_with else ())]

"""A run on disk and in memory: `run.json`, written once, and `samples.jsonl`, appended line by line.

The process that measures holds both, and never reads back what it has written. Prose: results/README.md.
"""

from __future__ import annotations

import errno
import fcntl
import io
import itertools
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from pyopbench.model.errors import BadInput, PyopbenchError
from pyopbench.model.files import real_path, write_atomically
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.store import json_file
from pyopbench.store.json_file import corrupt
from pyopbench.store.types import AnyLine, GroupLine, Plan, Side, decode_line

RUN_FILE, SAMPLES_FILE = "run.json", "samples.jsonl"
LOCK_ATTEMPTS, LOCK_SECONDS = 10, 0.05
"""How often a lock is tried, and seconds between: half a second is longer than a start of a process keeps one."""
HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
HASH_SHOWN = 10
"""Digits of a commit's hash that are shown."""


@dataclass(eq=False)
class OpenSide:
    """A side of a run that is measured.

    Attributes:
        run: that it is of.
        number: its place in the plan, which its lines have.
        side: what is planned for it.
        lines: of the samples, in order.
    """

    run: OpenRun
    number: int
    side: Side
    lines: list[AnyLine] = field(default_factory=list)

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.run.plan

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.run.folder

    def append(self, line: AnyLine) -> None:
        """Append a line to the samples and return when it is on the disk; the run is locked."""
        self.lines.append(self.run.write(structs.replace(line, side=self.number)))


@dataclass(eq=False)
class OpenRun:
    """A run in memory, with its append-only folder behind it.

    Attributes:
        folder: of the run.
        plan: the content of `run.json`.
        own: the own ops of the run as named to this process, for its workers; never those that the folder names.
        size: of the samples, in bytes.
        torn: bytes of a last line that a crash left unfinished, which is dropped.
        measured: the sides with a plan.
    """

    folder: Path
    plan: Plan
    own: OwnOps = field(default_factory=dict)
    size: int = 0
    torn: int = 0
    measured: tuple[OpenSide, ...] = field(init=False)
    _stream: io.FileIO | None = None

    def __post_init__(self) -> None:
        numbered = enumerate(self.plan.sides)
        self.measured = tuple(OpenSide(self, number, side) for number, side in numbered if side.problem is None)

    @property
    def has_several_sides(self) -> bool:
        """Whether sides are compared."""
        return len(self.plan.sides) > 1

    @property
    def has_revisions(self) -> bool:
        """Whether a side is a revision."""
        return any(side.revision is not None for side in self.plan.sides)

    def alone(self, measured: OpenSide) -> OpenRun:
        """Return the run as if it had one side."""
        run = OpenRun(self.folder, structs.replace(self.plan, sides=[measured.side]), self.own)
        run.measured[0].lines, run.torn = measured.lines, self.torn
        return run

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let this process alone append, and cut off what a crash has left of a line.

        Raises:
            BadInput: another process measures into the folder, or has done so since the run was opened.
        """
        with (self.folder / SAMPLES_FILE).open("ab", buffering=0) as stream:
            if not _take(stream):
                raise BadInput(
                    "another process is measuring into this folder",
                    received=self.folder,
                    legal="a run that no other process is measuring",
                    hint="wait for that process or end it, or choose another --out",
                )
            if os.fstat(stream.fileno()).st_size != self.size + self.torn:
                raise BadInput(
                    "another process has written to this folder since it was read",
                    received=self.folder,
                    hint="read it again: pyopbench resume DIR",
                )
            if self.torn:
                os.truncate(stream.fileno(), self.size)
                self.torn = 0
            self._stream = stream
            try:
                yield
            finally:
                self._stream = None

    def write(self, line: AnyLine) -> AnyLine:
        """Append a line and return it when it is on the disk.

        Raises:
            PyopbenchError: it is not, for example because the disk is full; what was appended before is as it was.
        """
        assert self._stream is not None, "a run is locked before lines are appended"
        stored = json_file.encode(line) + b"\n"
        try:
            if self._stream.write(stored) < len(stored):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise PyopbenchError(
                "cannot store the latest measurement; earlier ones are kept",
                received=error,
                hint="free some space or fix the permissions of the folder; then: pyopbench resume DIR",
            ) from error
        self.size += len(stored)
        return line


Source: TypeAlias = Path | OpenRun
"""Where results are: in a folder or a file, or in memory with whoever has measured them."""


def require_new(folder: Path) -> None:
    """Check that a folder holds no run yet.

    Raises:
        BadInput: it does, or it cannot be a folder that one may write to.
    """
    if any(os.path.lexists(folder / name) for name in (RUN_FILE, SAMPLES_FILE)):
        raise BadInput(
            "the output folder already contains a run, and measured data is never overwritten",
            received=folder,
            legal="an empty or new folder",
            hint=f"choose another --out, or resume that run: pyopbench resume {folder}",
        )
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise BadInput(
            "the output folder cannot be written to",
            received=f"{folder}: {nearest} is {'not writable' if nearest.is_dir() else 'a file'}",
            legal="an empty or new folder",
            hint="choose another --out",
        )


def create(folder: Path, plan: Plan, own: OwnOps = NO_OWN_OPS) -> OpenRun:
    """Make the folder of a new run and write its `run.json`, and samples without a line: so none may be missing."""
    run = OpenRun(folder, structs.replace(plan, run=real_path(folder).name), own)
    write_run(run, folder)
    return run


def write_run(run: OpenRun, folder: Path) -> None:
    """Write a run that is in memory into a new folder: its samples, and then the file that makes it one."""
    require_new(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json_file.encode(line) + b"\n" for side in run.measured for line in side.lines]
    write_atomically(folder / SAMPLES_FILE, b"".join(lines))
    write_atomically(folder / RUN_FILE, json_file.encode_in_lines(run.plan))


def is_run(path: Path) -> bool:
    """Whether a path is a folder that pyopbench has written."""
    return (path / RUN_FILE).is_file()


def open_run(source: Source) -> OpenRun:
    """Return a run as it is on the disk, without a torn last line, or as it is in memory where it is open.

    Raises:
        BadInput: it is no folder of a run, a line is not of the schema, or a launch has the same sweep of a group
            twice; names file and line.
    """
    if isinstance(source, OpenRun):
        return source
    run = OpenRun(source, read_plan(source))
    path = source / SAMPLES_FILE
    whole, end, torn = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
    run.size, run.torn = len(whole) + len(end), len(torn)
    measured = {side.number: side for side in run.measured}
    for number, content in enumerate(whole.split(b"\n") if end else [], start=1):
        line = decode_line(content, f"{path}:{number}")
        if line.side not in measured:
            raise corrupt(f"{path}:{number}", f"nothing is planned for side {line.side}")
        measured[line.side].lines.append(line)
    for side in run.measured:
        _require_once(side.lines, path)
    return run


def read_plan(folder: Path) -> Plan:
    """Return the content of `run.json`.

    Raises:
        BadInput: no such file, not JSON, a key missing or a case id that is none.
    """
    path = folder / RUN_FILE
    try:
        plan = json_file.read(path, Plan)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput(
            f"not a folder of results: it has no {RUN_FILE}",
            received=folder,
            legal="a folder written by `pyopbench run`",
            hint=f"name the folder that contains {RUN_FILE}",
        ) from error
    plan.check(str(path))
    return plan


def open_sources(sources: Sequence[Source]) -> list[Source]:
    """Return sources, each folder once, with the runs open that are pyopbench's own; others stay paths.

    Raises:
        BadInput: a run cannot be read.
    """
    unique: dict[object, Source] = {}
    for source in sources:
        is_own = isinstance(source, Path) and is_run(source)
        unique.setdefault(real_path(source) if is_own and isinstance(source, Path) else source, source)
    return [
        open_run(source) if not isinstance(source, Path) or is_run(source) else source for source in unique.values()
    ]


def name_sides(sides: Sequence[Side]) -> list[Side]:
    """Return sides with labels: 2.21.0, and from its second time on with a number, 2.21.0-2."""
    names, labels = list(map(_name, sides)), list[str]()
    for name in names:
        numbered = (f"{name}-{number}" for number in itertools.count(2))
        # A branch may be called main-2; no two sides have one label.
        taken = {*labels, *names} if name in labels else set(labels)
        labels.append(next(label for label in itertools.chain((name,), numbered) if label not in taken))
    return [structs.replace(side, label=label) for side, label in zip(sides, labels, strict=True)]


def _name(side: Side) -> str:
    asked = "" if side.revision is None else short_hash(side.revision.asked)
    return " ".join(filter(None, [asked, side.asked.label])) or "here"


def short_hash(name: str) -> str:
    """Return the first digits of the hash of a commit, and anything else as it is."""
    return name[:HASH_SHOWN] if HASH.fullmatch(name) else name


def report_folder(folder: Path, label: str) -> Path:
    """Return the folder for one side's report."""
    return folder / (re.sub("[^A-Za-z0-9.=-]+", "-", label).strip("-.") or "side")


def _take(stream: io.FileIO) -> bool:
    """Lock a file; return False if another process keeps it.

    One that is killed while it starts a worker leaves the lock with the process that is to become it, for a moment.
    """
    for attempt in range(LOCK_ATTEMPTS):
        with suppress(BlockingIOError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        if attempt < LOCK_ATTEMPTS - 1:
            time.sleep(LOCK_SECONDS)
    return False


def _require_once(lines: Sequence[AnyLine], path: Path) -> None:
    seen = Counter((line.launch, line.group, line.sweep) for line in lines if isinstance(line, GroupLine))
    for (launch, group, number), count in seen.items():
        if count > 1:
            raise corrupt(str(path), f"{count} lines have pass {number} of group {group} of launch {launch}")

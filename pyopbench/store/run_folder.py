"""A run on disk: `run.json`, written once, and `samples.jsonl`, appended group by group. Schema: results/README.md.

`OpenSide` has both in memory: the process that measures appends to it, and never reads back what it has written.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.model.write_file import write_atomically as write_atomically  # noqa: PLC0414 - re-exported for modules that store files
from pyopbench.store import json_file
from pyopbench.store.json_file import corrupt
from pyopbench.store.line_types import AnyLine, GroupLine, decode_line
from pyopbench.store.run_json import RunContent

LOCK_ATTEMPTS = 10
LOCK_SECONDS = 0.05
"""Between attempts; half a second in all is longer than any start of a process takes to let go of a lock."""

RUN_FILE = "run.json"
SAMPLES_FILE = "samples.jsonl"


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


def create(folder: Path, run: RunContent) -> OpenSide:
    """Make the folder of a new run and write its `run.json`, and samples without a line: so none may be missing."""
    folder.mkdir(parents=True, exist_ok=True)
    require_new(folder)
    write_atomically(folder / RUN_FILE, json_file.encode_in_lines(run))
    write_atomically(folder / SAMPLES_FILE, b"")
    return OpenSide(folder, run)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other process from measuring into a folder; the lock goes with the process, however it ends.

    Raises:
        BadInput: another process has it.
    """
    with (folder / RUN_FILE).open("rb") as stream:
        if not _take(stream):
            raise BadInput(
                "another process is measuring into this folder",
                received=folder,
                legal="a run that no other process is measuring",
                hint="wait for that process or end it, or choose another --out",
            )
        yield


def _take(stream: IO[bytes]) -> bool:
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


@dataclass(eq=False)
class OpenSide:
    """What is planned and what is measured on one side of a run, in memory, with its append-only folder behind it.

    Attributes:
        folder: of the side; that of the run where it has one side.
        content: of `run.json`.
        lines: of the samples, in order.
        size: of these lines, in bytes.
        torn: bytes of a last line that a crash left unfinished, which is dropped.
    """

    folder: Path
    content: RunContent
    lines: list[AnyLine] = field(default_factory=list)
    size: int = 0
    torn: int = 0

    def prepare_to_append(self) -> None:
        """Cut off what a crash has left of a line; whoever calls it has the lock.

        Raises:
            BadInput: somebody else has measured since this was opened.
        """
        path = self.folder / SAMPLES_FILE
        if (path.stat().st_size if path.exists() else 0) != self.size + self.torn:
            raise BadInput(
                "another process has measured into this folder since it was read",
                received=self.folder,
                hint="read it again: pyopbench resume DIR",
            )
        if self.torn:
            os.truncate(path, self.size)
            self.torn = 0

    def append(self, line: AnyLine) -> None:
        """Append one line to the samples and return when it is on the disk.

        Raises:
            CannotStore: it is not, for example because the disk is full; what was appended before is as it was.
        """
        stored = json_file.encode(line) + b"\n"
        try:
            with (self.folder / SAMPLES_FILE).open("ab") as stream:
                stream.write(stored)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise CannotStore(
                "cannot store what was just measured; what was stored before is kept",
                received=error,
                hint="free some space or fix the permissions of the folder; then: pyopbench resume DIR",
            ) from error
        self.lines.append(line)
        self.size += len(stored)


def read_run(folder: Path) -> RunContent:
    """Return the content of `run.json`.

    Raises:
        BadInput: no such file, not JSON, a key missing or a case id that is none.
    """
    path = folder / RUN_FILE
    try:
        run = json_file.read(path, RunContent)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadInput(
            f"not a folder of results: it has no {RUN_FILE}",
            received=folder,
            legal="a folder written by `pyopbench run`",
            hint=f"name the folder that contains {RUN_FILE}",
        ) from error
    run.check(str(path))
    return run


def open_side(folder: Path) -> OpenSide:
    """Return a side of a run as it is on the disk, without a torn last line.

    Raises:
        BadInput: as `read_run`; or a line is not of the schema, or a pass of a group of a launch is there twice; names
            file and line.
    """
    side = OpenSide(folder, read_run(folder))
    path = folder / SAMPLES_FILE
    whole, end, torn = (path.read_bytes() if path.exists() else b"").rpartition(b"\n")
    lines = whole.split(b"\n") if end else []
    side.lines = [decode_line(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]
    side.size, side.torn = len(whole) + len(end), len(torn)
    _require_once([line for line in side.lines if isinstance(line, GroupLine)], path)
    return side


def _require_once(groups: Sequence[GroupLine], path: Path) -> None:
    seen = Counter((line.launch, line.group, line.sweep) for line in groups)
    for (launch, group, number), count in seen.items():
        if count > 1:
            raise corrupt(str(path), f"{count} lines hold pass {number} of group {group} of launch {launch}")

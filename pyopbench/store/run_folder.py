"""A run on disk: `run.json`, written once, and `samples.jsonl`, appended group by group. Schema: results/README.md.

`OpenSide` has both in memory: the process that measures appends to it, and never reads back what it has written.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from pyopbench.model.errors import BadInput, CannotStore
from pyopbench.model.write_file import open_to_change, opened_folder, sync_folder
from pyopbench.model.write_file import write_atomically as write_atomically  # noqa: PLC0414 - re-exported for modules that store files
from pyopbench.store import integrity, open_file
from pyopbench.store.integrity import LineChecker, Seal
from pyopbench.store.line_types import AnyLine, GroupLine, decode_line
from pyopbench.store.run_json import RunContent
from pyopbench.store.strict_json import convert, corrupt, parse_at, storable
from pyopbench.store.warnings import Changed, UnfinishedLine

LOCK_ATTEMPTS = 10
LOCK_SECONDS = 0.05
"""Between attempts; half a second in all is longer than any start of a process takes to let go of a lock."""

MOST_SHOWN = 5
"""Lines that an error names."""
CHANGED_NEXT_STEP = "restore the file, or measure again"

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


def encode(content: RunContent) -> bytes:
    """Return the bytes of a `run.json`."""
    return integrity.sealed(
        json.dumps(storable(msgspec.to_builtins(content, str_keys=True)), indent=1, allow_nan=False)
    )


def create(folder: Path, run: RunContent) -> OpenSide:
    """Make the folder of a new run and write its `run.json`, and samples without a line: so none may be missing."""
    content = encode(run)
    folder.mkdir(parents=True, exist_ok=True)
    with opened_folder(folder) as opened:
        # Two runs may have found it new: whoever comes second waits here, and finds the run of the first.
        fcntl.flock(opened, fcntl.LOCK_EX)
        require_new(folder)
        write_atomically(folder / RUN_FILE, content)
        write_atomically(folder / SAMPLES_FILE, b"")
    return OpenSide(folder, run, integrity.seal_of(content))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep every other process from measuring into a folder; the lock goes with the process, however it ends.

    Raises:
        BadInput: another process has it.
    """
    with open_file.open_file(folder / RUN_FILE, open_file.RUN) as stream:
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
        seal: of `run.json`.
        lines: of the samples, in order.
        warnings: what is to be said of the two files.
        size: of the samples, in bytes, without a last line that was not finished.
    """

    folder: Path
    content: RunContent
    seal: Seal
    lines: list[AnyLine] = field(default_factory=list)
    warnings: list[UnfinishedLine | Changed] = field(default_factory=list)
    size: int = 0

    def prepare_to_append(self) -> None:
        """Cut off what a crash has left of a line; whoever calls it has the lock.

        Raises:
            BadInput: somebody else has measured since this was opened, or the samples are no file to append to.
        """
        drop_torn_line(self.folder)
        self.warnings = [one for one in self.warnings if not isinstance(one, UnfinishedLine)]
        with suppress(FileNotFoundError):
            if os.stat(self.folder / SAMPLES_FILE).st_size != self.size:
                raise BadInput(
                    "another process has measured into this folder since it was read",
                    received=self.folder,
                    hint="read it again: pyopbench resume DIR",
                )

    def append(self, line: AnyLine) -> None:
        """Append one line to the samples and return when it is on the disk.

        Raises:
            CannotStore: it is not, for example because the disk is full; what was appended before is as it was.
        """
        content = encode_line(line)
        try:
            with opened_folder(self.folder) as opened:
                descriptor = open_to_change(SAMPLES_FILE, opened, os.O_RDWR | os.O_APPEND | os.O_CREAT)
                is_new = not os.fstat(descriptor).st_size
                before = self.seal.checksum if is_new else _last_checksum(descriptor)
                stored = integrity.sealed_line(content, before or 0) + b"\n"
                _append(descriptor, stored)
                if is_new:
                    sync_folder(opened)
        except OSError as error:
            raise CannotStore(
                "cannot store what was just measured; what was stored before is kept",
                received=error,
                hint="free some space or fix the permissions of the folder, whose files must not be links; "
                "then: pyopbench resume DIR",
            ) from error
        self.lines.append(line)
        self.size += len(stored)


def encode_line(line: AnyLine) -> bytes:
    """Return the JSON of a line, without a checksum and without an end."""
    return json.dumps(storable(msgspec.to_builtins(line)), allow_nan=False, separators=(",", ":")).encode()


def _last_checksum(descriptor: int) -> int | None:
    """Return the checksum of the last line of a file; None for one without."""
    length = integrity.LINE_END_BYTES + 1
    end = os.pread(descriptor, length, max(0, os.fstat(descriptor).st_size - length))
    return integrity.checksum_of(end.removesuffix(b"\n"))


def _append(descriptor: int, content: bytes) -> None:
    """Append to a file and close it; what of it found no room is taken back."""
    before = os.fstat(descriptor).st_size
    with os.fdopen(descriptor, "ab", buffering=0) as stream:
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[stream.write(rest) :]
            os.fsync(stream.fileno())
        except OSError:
            with suppress(OSError):
                os.ftruncate(stream.fileno(), before)
            raise


def drop_torn_line(folder: Path) -> None:
    """Cut off a last line that a crash left unfinished, so that what is appended next stands on a line of its own.

    Raises:
        BadInput: the samples are not a file that this may be done to.
    """
    try:
        with opened_folder(folder) as opened, os.fdopen(open_to_change(SAMPLES_FILE, opened, os.O_RDWR), "r+b") as file:
            content = file.read()
            if content and not content.endswith(b"\n"):
                file.truncate(content.rfind(b"\n") + 1)
                os.fsync(file.fileno())
    except FileNotFoundError:
        return
    except OSError as error:
        raise corrupt(str(folder / SAMPLES_FILE), f"not a file that can be appended to ({error.strerror})") from error


def read_run(folder: Path) -> RunContent:
    """Return the content of `run.json`.

    Raises:
        BadInput: no such file, not JSON, a key missing or a case id that is none.
    """
    return _decode(folder, _bytes_of_run(folder))


def open_side(folder: Path) -> OpenSide:
    """Return a side of a run as it is on the disk, with warnings if a file is not as it was written.

    Raises:
        BadInput: as `read_run` and `read_lines`.
    """
    stored = _bytes_of_run(folder)
    side = OpenSide(folder, _decode(folder, stored), integrity.seal_of(stored))
    side.warnings += changes_of(folder / RUN_FILE, side.seal)
    side.lines, warnings, side.size = _read_lines(folder, side.seal)
    side.warnings += warnings
    return side


def _bytes_of_run(folder: Path) -> bytes:
    try:
        return open_file.read_bytes(folder / RUN_FILE, open_file.RUN)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_run(folder) from error


def _decode(folder: Path, stored: bytes) -> RunContent:
    path = folder / RUN_FILE
    parsed = parse_at(stored, str(path))
    if isinstance(parsed, dict):
        parsed.pop(integrity.KEY, None)
    run = convert(parsed, RunContent, str(path))
    run.check(str(path))
    return run


def _no_run(folder: Path) -> BadInput:
    return BadInput(
        f"not a folder of results: it has no {RUN_FILE}",
        received=folder,
        legal="a folder written by `pyopbench run`",
        hint=f"name the folder that contains {RUN_FILE}",
    )


def _seal(folder: Path) -> Seal:
    try:
        return integrity.seal_of(open_file.read_bytes(folder / RUN_FILE, open_file.RUN))
    except (FileNotFoundError, NotADirectoryError):
        return Seal("changed")


def changes(folder: Path) -> list[Changed]:
    """Return a warning if `run.json` is not as it was written; `read_lines` says so of samples."""
    return changes_of(folder / RUN_FILE, _seal(folder))


def changes_of(path: Path, seal: Seal) -> list[Changed]:
    """Return a warning if a document is not as it was written."""
    return [Changed(str(path), ())] if seal.state == "changed" else []


def require_unchanged(warnings: Iterable[object]) -> None:
    """Check that nothing was changed after it was written, unless that is allowed.

    Raises:
        BadInput: something was; names the file and the first lines.
    """
    found = [one for one in warnings if isinstance(one, Changed)]
    if not found:
        return
    first = found[0]
    lines = ", ".join(f"{line:,}" for line in first.lines[:MOST_SHOWN])
    more = f" and {len(first.lines) - MOST_SHOWN:,} more" if len(first.lines) > MOST_SHOWN else ""
    said = f"line {lines}{more}" if lines else "its checksum does not match its content"
    raise integrity.refusal(f"{first.path}: {said}", CHANGED_NEXT_STEP)


def read_lines(folder: Path) -> tuple[list[AnyLine], list[UnfinishedLine | Changed]]:
    """Return the lines of `samples.jsonl`, and what is to be said of the file.

    That is a warning if a torn last line was dropped, and one if lines are not as they were written.

    Raises:
        BadInput: a line other than the last is no JSON, or any line is not of the schema, or a pass of a group of
            a launch is there twice; names file and line.
    """
    lines, warnings, _ = _read_lines(folder, _seal(folder))
    return lines, warnings


def _read_lines(folder: Path, seal: Seal) -> tuple[list[AnyLine], list[UnfinishedLine | Changed], int]:
    """Return the lines, the warnings, and how many bytes the finished lines have."""
    path = folder / SAMPLES_FILE
    warnings: list[UnfinishedLine | Changed] = []
    parsed: list[AnyLine] = []
    changed: list[int] = []
    checker, size = LineChecker(seal), 0
    with suppress(FileNotFoundError, NotADirectoryError):
        for number, line in enumerate(open_file.read_lines(path, open_file.SAMPLES), start=1):
            if line.endswith(b"\n"):
                state, content = checker.check(line[:-1])
                parsed.append(decode_line(content, f"{path}:{number}"))
                changed += [number] if state == "changed" else []
                size += len(line)
            else:
                warnings.append(UnfinishedLine(str(path), number))
    _require_once([line for line in parsed if isinstance(line, GroupLine)], path)
    return parsed, warnings + ([Changed(str(path), tuple(changed))] if changed else []), size


def _require_once(groups: Sequence[GroupLine], path: Path) -> None:
    seen = Counter((line.launch, line.group, line.sweep) for line in groups)
    for (launch, group, number), count in seen.items():
        if count > 1:
            raise corrupt(str(path), f"{count} lines hold pass {number} of group {group} of launch {launch}")

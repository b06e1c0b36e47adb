"""What of results is as it was written, what is not, and what a report can still say of the rest.

Every kind of folder that pyopbench writes is read: of a run, of several versions, of shards and of a fleet, of a
pipeline, of a certificate, of a history; and a file alone, such as a recording.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pyopbench.model.errors import BadInput
from pyopbench.store import (
    certificate,
    copy_costs,
    counted_copies,
    integrity,
    open_file,
    probes,
    run_folder,
    run_sides,
)
from pyopbench.store.integrity import LineChecker, Seal, seal_of
from pyopbench.store.line_types import AnyLine, EndedLine, GroupLine, decode_line
from pyopbench.store.strict_json import corrupt, parse

Condition: TypeAlias = Literal["whole", "changed", "torn", "twice", "unreadable", "missing"]
"""Of a file or a line. `changed` is said of a line too where one is missing before it."""
READERS: dict[str, Callable[[Path], object]] = {
    probes.FILE: probes.read,
    counted_copies.FILE: counted_copies.read,
    copy_costs.FILE: copy_costs.read,
    run_sides.FILE: lambda path: run_sides.read_all(path.parent),
}
ANSWERS = ("decisions.json", "pipeline-decision.json", "gate.json", "comparison.json", "history.json")
FLEET = "fleet.json"
"""What is asked of a fleet."""
DOCUMENTS = (*READERS, certificate.FILE, *ANSWERS, FLEET)
"""Names of what pyopbench writes with a checksum, besides `run.json`; recordings have any name."""


@dataclass(frozen=True)
class Checked:
    """What was found of a file, or of a line of it.

    Attributes:
        path: the file.
        line: its line; None for the whole file.
        condition: how it is.
        told: why it cannot be read; else empty.
    """

    path: Path
    line: int | None
    condition: Condition
    told: str = ""

    @property
    def is_fine(self) -> bool:
        """Is it as it was written?"""
        return self.condition == "whole"


@dataclass(frozen=True)
class Contents:
    """What a report can still be made of: lines that are whole.

    Attributes:
        launches: worker processes that have a sample.
        cases: cases that have a sample.
        planned: cases of the run; None where `run.json` cannot be read.
        ended: does the last line say that measuring has ended? If not, it was interrupted, or lines at the end are
            missing.
    """

    launches: int
    cases: int
    planned: int | None
    ended: bool


@dataclass(frozen=True)
class CheckedFolder:
    """What was found in a folder.

    Attributes:
        folder: its path.
        files: what was found of every file, those that are whole too.
        contents: what is left to report on; None where the folder holds no run.
    """

    folder: Path
    files: list[Checked] = field(default_factory=list)
    contents: Contents | None = None

    @property
    def is_fine(self) -> bool:
        """Is everything in it as it was written?"""
        return all(one.is_fine for one in self.files)


def check(path: Path) -> list[CheckedFolder]:
    """Check a file, or all that pyopbench wrote into a folder and the folders in it.

    Raises:
        BadInput: there is nothing in it that pyopbench wrote.
    """
    if path.is_dir():
        here = list(_folders_in(path))
        named = {one for folder in here for one in _versions_in(folder)}
        found = [check_folder(folder, is_named=folder in named) for folder in dict.fromkeys((*here, *sorted(named)))]
    elif path.name in (run_folder.RUN_FILE, run_folder.SAMPLES_FILE):
        found = [check_folder(path.parent)]
    else:
        found = [CheckedFolder(path.parent, [_check_document(path)] if _is_document(path) else [])]
    found = [one for one in found if one.files]
    if not found:
        raise BadInput(
            "nothing here was written by pyopbench, so there is no checksum",
            received=path if os.path.lexists(path) else f"{path}: no such file or folder",
            legal="a folder of results, or a file such as a recording",
            hint="name the folder that pyopbench printed when it wrote the results",
        )
    return found


def check_folder(folder: Path, *, is_named: bool = False) -> CheckedFolder:
    """Check what is in a folder itself.

    Args:
        folder: its path.
        is_named: does a `sides.json` say that there is a run in it?
    """
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    is_run = is_named or run_folder.RUN_FILE in names or run_folder.SAMPLES_FILE in names
    found, contents = _check_run(folder) if is_run else ([], None)
    documents = [_check_document(folder / name) for name in names if _is_document(folder / name)]
    return CheckedFolder(folder, [*found, *documents, *_missing_names(folder, names)], contents)


def _folders_in(folder: Path) -> Iterator[Path]:
    """Yield a folder and those in it, but for hidden ones and links."""
    for place, inner, _ in os.walk(folder):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        yield Path(place)


def _versions_in(folder: Path) -> list[Path]:
    """Return the folders that a `sides.json` says to hold a run; none where there is none, or it cannot be read."""
    try:
        return [one.folder for one in run_sides.read(folder)]
    except (BadInput, OSError):
        return []


def _missing_names(folder: Path, names: Sequence[str]) -> list[Checked]:
    """Return the file that names revisions, where there are revisions and no such file."""
    inner = [folder / name for name in names if re.fullmatch("rev-[0-9]+", name)]
    if run_sides.FILE in names or not any((one / run_folder.RUN_FILE).exists() for one in inner):
        return []
    return [Checked(folder / run_sides.FILE, None, "missing")]


def _is_document(path: Path) -> bool:
    """Whether pyopbench wrote a file with a checksum, by its name, or else by its end."""
    name = path.name
    if name in DOCUMENTS:
        return True
    if path.suffix != ".json" or name == run_folder.RUN_FILE:
        return False
    try:
        with open_file.open_file(path, open_file.GRAPH) as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - integrity.END_BYTES))
            return f'"{integrity.KEY}"'.encode() in stream.read()
    except (BadInput, OSError):
        return False


def _check_document(path: Path) -> Checked:
    try:
        content = open_file.read_bytes(path, open_file.REPORT)
        state = seal_of(content).state
        if state == "whole" and path.name in READERS:
            READERS[path.name](path)
        elif state == "whole":
            parse(content)
    except (FileNotFoundError, NotADirectoryError):
        return Checked(path, None, "missing")
    except BadInput as error:
        return Checked(path, None, "unreadable", str(error.received))
    except (ValueError, RecursionError) as error:
        return Checked(path, None, "unreadable", str(corrupt(str(path), f"not JSON ({error})").received))
    return Checked(path, None, state)


def _check_run(folder: Path) -> tuple[list[Checked], Contents]:
    run, seal, planned = _check_plan(folder)
    states, lines = _check_samples(folder, seal)
    groups = [line for line in lines if isinstance(line, GroupLine) and line.samples]
    cases = {case for line in groups for case in line.samples}
    ended = bool(lines) and isinstance(lines[-1], EndedLine)
    return [run, *states], Contents(len({line.launch for line in groups}), len(cases), planned, ended)


def _check_plan(folder: Path) -> tuple[Checked, Seal, int | None]:
    path, seal = folder / run_folder.RUN_FILE, Seal("changed")
    try:
        seal = seal_of(open_file.read_bytes(path, open_file.RUN))
        run = run_folder.read_run(folder)
    except (FileNotFoundError, NotADirectoryError):
        return Checked(path, None, "missing"), seal, None
    except BadInput as error:
        return Checked(path, None, "unreadable", str(error.received)), seal, None
    return Checked(path, None, seal.state), seal, len(run.cases)


def _check_samples(folder: Path, seal: Seal) -> tuple[list[Checked], list[AnyLine]]:
    """Return what is to be said of samples, and the lines that are whole."""
    path = folder / run_folder.SAMPLES_FILE
    wrong: list[Checked] = []
    kept: list[AnyLine] = []
    try:
        for found, line in check_lines(path, open_file.read_lines(path, open_file.SAMPLES), seal):
            if line is not None and found.is_fine:
                kept.append(line)
            else:
                wrong.append(found)
    except FileNotFoundError:
        return [Checked(path, None, "missing")], []
    except BadInput as error:
        return [*wrong, Checked(path, None, "unreadable", str(error.received))], kept
    return wrong or [Checked(path, None, "whole")], kept


def check_lines(path: Path, lines: Iterable[bytes], seal: Seal) -> Iterator[tuple[Checked, AnyLine | None]]:
    """Yield what was found of each line of samples, and what it holds; None where that cannot be read."""
    checker, seen = LineChecker(seal), set[int]()
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            yield Checked(path, number, "torn"), None
            continue
        state, content = checker.check(line[:-1])
        # Lines that hold the same are usual, two looks of a launch for instance; but their checksums differ, because
        # each goes on from the line before it. So only what the checksums do not agree to can be there twice.
        is_twice = state == "changed" and hash(line) in seen
        seen.add(hash(line))
        try:
            parsed = decode_line(content, f"{path}:{number}")
        except BadInput as error:
            yield Checked(path, number, "unreadable", str(error.received)), None
            continue
        yield Checked(path, number, "twice" if is_twice else state), parsed

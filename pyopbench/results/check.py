"""What of a folder of results is as it was written, what is not, and what a report can still say of the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pyopbench.core.errors import BadInput
from pyopbench.results import (
    copy_costs,
    counted_copies,
    open_file,
    pipeline_file,
    probes,
    store,
    threads_file,
    versions,
)
from pyopbench.results.integrity import LineChecker, Seal, State, seal_of

Condition: TypeAlias = Literal["whole", "not checked", "changed", "torn", "twice", "unreadable", "missing"]
"""Of a file or a line. `changed` is said of a line too where one is missing before it."""
FINE: tuple[Condition, ...] = ("whole", "not checked")
SIDE_FILES = {
    probes.FILE: probes.read,
    counted_copies.FILE: counted_copies.read,
    copy_costs.FILE: copy_costs.read,
    pipeline_file.FILE: pipeline_file.read,
    threads_file.FILE: threads_file.read,
}


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
        """Is it as it was written, as far as can be told?"""
        return self.condition in FINE


@dataclass(frozen=True)
class Contents:
    """What a report can still be made of: lines that are whole.

    Attributes:
        launches: worker processes that have a sample.
        cases: cases that have a sample.
        planned: cases of the run; None where `run.json` cannot be read.
        ended: does a line say that measuring has ended? If not, it was interrupted, or lines at the end are missing.
    """

    launches: int
    cases: int
    planned: int | None
    ended: bool


def check_folder(folder: Path) -> tuple[list[Checked], Contents]:
    """Check a run.

    Args:
        folder: of one run.

    Returns:
        What was found of every file, those that are whole too; and what is left to report on.
    """
    found, seal, planned = _check_run(folder)
    states, lines = _check_samples(folder, seal)
    groups = [line for line in lines if line["kind"] == "group" and line["samples"]]
    cases = {case for line in groups for case in line["samples"]}
    ended = any(line["kind"] == "ended" for line in lines)
    contents = Contents(len({line["launch"] for line in groups}), len(cases), planned, ended)
    return [found, *states, *_check_side_files(folder)], contents


def folders_of(folder: Path) -> list[Path]:
    """Return the folders of the runs in a folder: of each version of TensorFlow, or itself."""
    return [version.folder for version in versions.read(folder)] if versions.is_here(folder) else [folder]


def _check_run(folder: Path) -> tuple[Checked, Seal, int | None]:
    path = folder / store.RUN_FILE
    try:
        seal = seal_of(open_file.read_bytes(path, open_file.RUN))
        run = store.read_run(folder)
    except (FileNotFoundError, NotADirectoryError):
        return Checked(path, None, "missing"), Seal("not checked"), None
    except BadInput as error:
        return Checked(path, None, "unreadable", str(error.received)), Seal("not checked"), None
    return Checked(path, None, seal.state), seal, len(run["cases"])


def _check_samples(folder: Path, seal: Seal) -> tuple[list[Checked], list[dict[str, Any]]]:
    """Return what is to be said of samples, and the lines that are whole."""
    path = folder / store.SAMPLES_FILE
    wrong: list[Checked] = []
    kept: list[dict[str, Any]] = []
    states: set[State] = set()
    try:
        for number, condition, told, line in _lines(path, seal):
            if line is not None and condition in FINE:
                kept.append(line)
                states.add("whole" if condition == "whole" else "not checked")
            else:
                wrong.append(Checked(path, number, condition, told))
    except FileNotFoundError:
        return [Checked(path, None, "missing")], []
    except BadInput as error:
        return [*wrong, Checked(path, None, "unreadable", str(error.received))], kept
    return wrong or [Checked(path, None, "whole" if states <= {"whole"} else "not checked")], kept


def _lines(path: Path, seal: Seal) -> Iterator[tuple[int, Condition, str, dict[str, Any] | None]]:
    """Yield number, condition, why it is unreadable, and content of each line."""
    checker, seen = LineChecker(seal), set[bytes]()
    for number, line in enumerate(open_file.read_lines(path, open_file.SAMPLES), start=1):
        if not line.endswith(b"\n"):
            yield number, "torn", "", None
            continue
        state, content = checker.check(line[:-1])
        try:
            parsed = store.parse_line(content, f"{path}:{number}")
        except BadInput as error:
            yield number, "unreadable", str(error.received), None
            continue
        yield number, "twice" if content in seen else state, "", parsed
        seen.add(content)


def _check_side_files(folder: Path) -> list[Checked]:
    found = (_check_side_file(folder / name, read) for name, read in SIDE_FILES.items())
    return [one for one in found if one is not None]


def _check_side_file(path: Path, read: Callable[[Path], object]) -> Checked | None:
    """Return what was found of a file beside a run; None where there is none."""
    try:
        read(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except BadInput as error:
        return Checked(path, None, "unreadable", str(error.received))
    return Checked(path, None, "not checked")


def are_fine(found: Sequence[Checked]) -> bool:
    """Whether everything is as it was written, as far as can be told."""
    return all(one.is_fine for one in found)

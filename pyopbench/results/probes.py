"""What probes found, as a file and as rows: `probes.json`, written by `pyopbench probe` and kept beside a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from pyopbench.core.write_file import write_atomically
from pyopbench.results.side_file import SideFile

SCHEMA = 1
FILE = "probes.json"
"""Its name beside the results of a run, where the report finds it."""

Status: TypeAlias = Literal["works", "fails", "silently wrong", "does not apply"]
STATUSES: tuple[Status, ...] = ("works", "fails", "silently wrong", "does not apply")
BAD = ("fails", "silently wrong")

SOFTWARE = ("tensorflow", "numpy", "python")
"""What findings may depend on, beside the probes themselves."""


@dataclass(frozen=True)
class Row:
    """What came of one probe with one variant.

    Attributes:
        probe: name of the probe.
        label: the variant, or `variant+gradient` for a gradient that is not its usual one.
        status: one of `STATUSES`.
        told: in one line; empty where it works without a remark.
        words: the error as TensorFlow or Python put it, where there is one.
        figures: numbers that were seen, by name.
        seconds: how long it took.
    """

    probe: str
    label: str
    status: Status
    told: str
    words: str = ""
    figures: Mapping[str, float] | None = None
    seconds: float = 0.0

    @property
    def is_bad(self) -> bool:
        """Can the variant not do it?"""
        return self.status in BAD


class Probes(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `probes.json`."""

    tensorflow: str
    numpy: str
    python: str
    probes: dict[str, str]
    rows: list[Row]


@dataclass(frozen=True)
class Change:
    """A cell of the matrix that differs between two files; None where it was not tried."""

    probe: str
    label: str
    before: Row | None
    after: Row | None


def rows_of(document: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a document, in its order."""
    return msgspec.convert(document["rows"], list[Row])


def find(rows: Iterable[Row], probe: str, label: str) -> Row | None:
    """Return the row of a probe and a label, or None."""
    return next((row for row in rows if (row.probe, row.label) == (probe, label)), None)


def labels_of(rows: Iterable[Row]) -> list[str]:
    """Return every label once, in the order of the rows."""
    return list(dict.fromkeys(row.label for row in rows))


def merged(older: Mapping[str, Any] | None, newer: Mapping[str, Any]) -> dict[str, Any]:
    """Return one document with the rows of both; where both have one, the newer."""
    if older is None:
        return dict(newer)
    rows = {(row.label, row.probe): row for row in (*rows_of(older), *rows_of(newer))}
    kept = [asdict(rows[key]) for key in sorted(rows)]
    return {**newer, "probes": {**older["probes"], **newer["probes"]}, "rows": kept}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return the cells that do not have the same status in two documents, in the order of the first."""
    sides = [{(row.probe, row.label): row for row in rows_of(document)} for document in (before, after)]
    keys = dict.fromkeys((*sides[0], *sides[1]))
    pairs = [(key, sides[0].get(key), sides[1].get(key)) for key in keys]
    return [Change(*key, old, new) for key, old, new in pairs if (old and old.status) != (new and new.status)]


def told_once(rows: Sequence[Row]) -> list[tuple[str, str, list[str], str]]:
    """Return probe, status, labels and words of each finding once, however many variants it holds for."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in sorted(rows, key=lambda row: (row.probe, STATUSES.index(row.status))):
        found.setdefault((row.probe, row.status, row.told), []).append(row.label)
    return [(probe, status, labels, told) for (probe, status, told), labels in found.items()]


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench probe`, or of another schema.
    """
    return _KIND.load(path)


_KIND = SideFile("pyopbench probe", SCHEMA, Probes)

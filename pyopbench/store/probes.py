"""What probes found, as a file and as rows: `probes.json`, written by `pyopbench probe` and kept beside a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from pyopbench.store.side_file import SideFile

SCHEMA = 2

FILE = "probes.json"
"""Its name beside the results of a run, where the report finds it."""

Status: TypeAlias = Literal["works", "fails", "silently wrong", "does not apply"]
STATUSES: tuple[Status, ...] = ("works", "fails", "silently wrong", "does not apply")
BAD = ("fails", "silently wrong")

Key: TypeAlias = tuple[str | None, str, str]
"""Op (None for the cube), probe and label of a row."""

MOST_ROWS = 20_000
"""Twice as many as every probe with every variant and every op of the catalogue: a judgement looks through all of them
thousands of times."""

SOFTWARE = ("tensorflow", "numpy", "python")
"""What findings may depend on, beside the probes themselves."""


@dataclass(frozen=True)
class ProbeRow:
    """What came of one probe with one variant.

    Attributes:
        probe: name of the probe.
        label: the variant, or `variant+gradient` for a gradient that is not its usual one.
        op: the op that it was tried with, None for the cube of four numbers that stands for any op.
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
    op: str | None = None

    @property
    def key(self) -> Key:
        """What tells it from other rows."""
        return self.op, self.probe, self.label

    @property
    def could_not_be_tried(self) -> bool:
        """Was there nothing to try with its op, so that what is seen with the cube counts?"""
        return self.op is not None and self.status == "does not apply"

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
    rows: Annotated[list[ProbeRow], msgspec.Meta(max_length=MOST_ROWS)]


@dataclass(frozen=True)
class ProbeChange:
    """A cell of the matrix that differs between two files; None where it was not tried."""

    op: str | None
    probe: str
    label: str
    before: ProbeRow | None
    after: ProbeRow | None


def rows_of(document: Mapping[str, Any]) -> list[ProbeRow]:
    """Return the rows of a document, in its order."""
    return msgspec.convert(document["rows"], list[ProbeRow])


def find(document: Mapping[str, Any], probe: str, label: str, op: str | None) -> ProbeRow | None:
    """Return the row of a probe, a label and an op, None for the cube; or None if there is none."""
    key = (op, probe, label)
    # One row alone is converted: a judgement asks thousands of times.
    found = next((row for row in document["rows"] if (row.get("op"), row["probe"], row["label"]) == key), None)
    return None if found is None else msgspec.convert(found, ProbeRow)


def of_op(rows: Iterable[ProbeRow], op: str | None) -> list[ProbeRow]:
    """Return the rows of an op, None for the cube."""
    return [row for row in rows if row.op == op]


def ops_of(rows: Iterable[ProbeRow]) -> list[str]:
    """Return every op that something was tried with, each once, in the order of the rows; without the cube."""
    return list(dict.fromkeys(row.op for row in rows if row.op is not None))


def labels_of(rows: Iterable[ProbeRow]) -> list[str]:
    """Return every label once, in the order of the rows."""
    return list(dict.fromkeys(row.label for row in rows))


def merged(older: Mapping[str, Any] | None, newer: Mapping[str, Any]) -> dict[str, Any]:
    """Return one document with the rows of both; where both have one, the newer."""
    if older is None:
        return dict(newer)
    rows = {row.key: row for row in (*rows_of(older), *rows_of(newer))}
    kept = [asdict(row) for row in sorted(rows.values(), key=lambda row: (row.op or "", row.label, row.probe))]
    return {**newer, "probes": {**older["probes"], **newer["probes"]}, "rows": kept}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ProbeChange]:
    """Return the cells that do not have the same status in two documents, in the order of the first."""
    sides = [{row.key: row for row in rows_of(document)} for document in (before, after)]
    keys = dict.fromkeys((*sides[0], *sides[1]))
    pairs = [(key, sides[0].get(key), sides[1].get(key)) for key in keys]
    return [ProbeChange(*key, old, new) for key, old, new in pairs if (old and old.status) != (new and new.status)]


@dataclass(frozen=True)
class Told:
    """A finding that several variants share; the fields are those of `ProbeRow`."""

    op: str | None
    probe: str
    status: Status
    labels: tuple[str, ...]
    told: str


def told_once(rows: Sequence[ProbeRow]) -> list[Told]:
    """Return each finding once, however many variants it holds for: those of the cube first, then op by op."""
    found: dict[tuple[str | None, str, Status, str], list[str]] = {}
    for row in sorted(rows, key=lambda row: (row.op or "", row.probe, STATUSES.index(row.status))):
        found.setdefault((row.op, row.probe, row.status, row.told), []).append(row.label)
    return [Told(op, probe, status, tuple(labels), told) for (op, probe, status, told), labels in found.items()]


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all."""
    _KIND.write(path, json.dumps(document, indent=1, ensure_ascii=False))


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench probe`, or of another schema.
    """
    return _KIND.load(path)


_KIND = SideFile("pyopbench probe", SCHEMA, Probes)

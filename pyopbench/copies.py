"""The copies between tensors and arrays on the host: what was measured of them, as rows for people and as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench import text
from pyopbench.side_file import Copies, SideFile
from pyopbench.store import write_atomically

SCHEMA = 1
FILE = "copies.json"
"""Its name beside the results of a run, where the report finds it."""


@dataclass(frozen=True)
class Way:
    """One way over one bridge at the largest size measured.

    Attributes:
        bridge, direction, mode, layout: as `bridges.Crossing` names them.
        shared: are both ends the same memory?
        bridge_seconds: of one element.
        rate: bytes of the array per second beyond the bridge; None where nothing is copied, or where it costs so
            little beside the bridge that it cannot be told.
    """

    bridge: str
    direction: str
    mode: str
    layout: str
    shared: bool
    bridge_seconds: float
    rate: float | None


def ways(document: Mapping[str, Any]) -> list[Way]:
    """Return each way once, from its smallest and its largest size."""
    found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in document["rows"]:
        key = tuple(str(row[name]) for name in ("bridge", "direction", "mode", "layout"))
        found.setdefault(key, []).append(row)
    return [_way(sorted(rows, key=lambda row: int(row["size"]))) for rows in found.values()]


def _way(rows: list[Mapping[str, Any]]) -> Way:
    one, large = rows[0], rows[-1]
    seconds = large["seconds"] - one["seconds"]
    # Less than a tenth of the bridge itself is within what the bridge varies by.
    told = seconds > one["seconds"] / 10
    shared = all(row["shared"] for row in rows)
    return Way(
        large["bridge"],
        large["direction"],
        large["mode"],
        large["layout"],
        shared,
        one["seconds"],
        (large["bytes"] - one["bytes"]) / seconds if told and not shared else None,
    )


def largest_bytes(document: Mapping[str, Any]) -> int:
    """Return the bytes of the largest array that crossed."""
    return max(int(row["bytes"]) for row in document["rows"])


def copy_rate(document: Mapping[str, Any]) -> float:
    """Return at how many bytes of an array per second this machine copies one of the largest size.

    A copy reads and writes each byte, and bandwidths count both, as STREAM does.
    """
    moved = 2 * largest_bytes(document)
    nearest = min(document["bandwidths"], key=lambda one: abs(int(one["working_set_bytes"]) - moved))
    return float(nearest["copy"]) / 2


def table(document: Mapping[str, Any], direction: str) -> list[tuple[str, ...]]:
    """Return bridge, mode, layout, whether memory is shared, cost of the bridge, and MB/s of a direction, in words."""
    return [
        (
            way.bridge,
            {"call": "graph"}.get(way.mode, way.mode),
            way.layout,
            "shared" if way.shared else "copied",
            text.seconds(way.bridge_seconds),
            text.MISSING if way.rate is None else f"{way.rate / 1e6:,.0f}",
        )
        for way in ways(document)
        if way.direction == direction
    ]


def refusals(document: Mapping[str, Any]) -> list[str]:
    """Return in words each way that TensorFlow refuses, with its reason; files from before they were kept have none."""
    return [
        f"{one['bridge']} does not take an array that is {one['layout']}: {one['reason']}"
        for one in document.get("refused", ())
    ]


COLUMNS = ("bridge", "mode", "array", "memory", "one element", "MB/s")
DIRECTIONS = ("tensor to array", "array to tensor")


def hazards(document: Mapping[str, Any]) -> str:
    """Return in one sentence where a body that writes to its input changes the tensor of its caller."""
    hurt, safe = _by_mode(document, overwrites=True), _by_mode(document, overwrites=False)
    told = f"A body that writes to its input changes the caller's tensor {hurt}. " if hurt else ""
    return f"{told}It does not {safe}." if safe else told.strip()


def _by_mode(document: Mapping[str, Any], *, overwrites: bool) -> str:
    """Return in words with which bridges a body does or does not overwrite the tensor of its caller, mode by mode."""
    modes: dict[str, list[str]] = {}
    for one in document["hazards"]:
        if one["overwrites"] == overwrites:
            modes.setdefault(one["mode"], []).append(one["bridge"].replace(", ", " with "))
    words = {"call": "in a graph", "eager": "eagerly"}
    return text.listing([f"{words[mode]} by {text.listing(bridges)}" for mode, bridges in modes.items()])


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, (json.dumps(document, indent=1) + "\n").encode())


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench copies`, or of another schema.
    """
    return _KIND.load(path)


_KIND = SideFile("pyopbench copies", SCHEMA, Copies)

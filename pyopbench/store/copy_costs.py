"""What copies cost: between tensors and arrays on the host, and to a GPU and back; as values and as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench.store.side_file import Copies, SideFile

SCHEMA = 1
FILE = "copies.json"
"""Its name beside the results of a run, where the report finds it."""
DIRECTIONS = ("tensor to array", "array to tensor")


@dataclass(frozen=True)
class CopyCost:
    """What one way over one bridge costs.

    Attributes:
        bridge, direction, mode, layout: as `host_copies.HostCopy` names them.
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


def costs(document: Mapping[str, Any]) -> list[CopyCost]:
    """Return the cost of each way over each bridge once, from its smallest and its largest size."""
    found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in document["rows"]:
        key = tuple(str(row[name]) for name in ("bridge", "direction", "mode", "layout"))
        found.setdefault(key, []).append(row)
    return [_cost(sorted(rows, key=lambda row: int(row["size"]))) for rows in found.values()]


def _cost(rows: list[Mapping[str, Any]]) -> CopyCost:
    one, large = rows[0], rows[-1]
    seconds = large["seconds"] - one["seconds"]
    # Less than a tenth of the bridge itself is within what the bridge varies by.
    is_known = seconds > one["seconds"] / 10
    shared = all(row["shared"] for row in rows)
    return CopyCost(
        large["bridge"],
        large["direction"],
        large["mode"],
        large["layout"],
        shared,
        one["seconds"],
        (large["bytes"] - one["bytes"]) / seconds if is_known and not shared else None,
    )


def largest_bytes(document: Mapping[str, Any]) -> int:
    """Return the bytes of the largest array that crossed."""
    return max(int(row["bytes"]) for row in document["rows"])


@dataclass(frozen=True)
class GpuCopyCost:
    """What one way of copying between host and GPU costs.

    Attributes:
        direction, way: as `gpu_copies.GpuCopy` names them.
        memory: the kinds of memory of the host that the profiler saw, over all sizes.
        seconds: of a copy, by its bytes.
    """

    direction: str
    way: str
    memory: tuple[str, ...]
    seconds: Mapping[int, float]


def gpu_costs(document: Mapping[str, Any]) -> list[GpuCopyCost]:
    """Return the cost of each way of copying between host and GPU once; nothing where no GPU was measured."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in document["transfers"]["rows"] if has_gpu(document) else ():
        found.setdefault((row["direction"], row["way"]), []).append(row)
    return [
        GpuCopyCost(
            direction,
            way,
            tuple(dict.fromkeys(kind for row in rows for kind in row["memory"])),
            {int(row["bytes"]): float(row["seconds"]) for row in rows},
        )
        for (direction, way), rows in found.items()
    ]


def has_gpu(document: Mapping[str, Any]) -> bool:
    """Were copies between host and GPU measured too?"""
    return "transfers" in document


def overwriting(document: Mapping[str, Any], *, overwrites: bool) -> dict[str, list[str]]:
    """Return by mode the bridges with which a body does, or does not, change the tensor of its caller by writing."""
    modes: dict[str, list[str]] = {}
    for hazard in document["hazards"]:
        if hazard["overwrites"] == overwrites:
            modes.setdefault(hazard["mode"], []).append(hazard["bridge"])
    return modes


def write(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document, whole or not at all."""
    _KIND.write(path, json.dumps(document, indent=1))


def read(path: Path) -> dict[str, Any]:
    """Read a document.

    Raises:
        BadInput: it is not one of `pyopbench copies`, or of another schema.
    """
    return _KIND.load(path)


_KIND = SideFile("pyopbench copies", SCHEMA, Copies)

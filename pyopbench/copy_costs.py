"""What copies cost, as rows for people and as a file: between tensors and arrays on the host, and to a GPU and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench import text
from pyopbench.documents import Kind
from pyopbench.store import write_atomically

SCHEMA = 1
FILE = "copies.json"
"""Its name beside the results of a run, where the report finds it."""


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
            cost.bridge,
            {"call": "graph"}.get(cost.mode, cost.mode),
            cost.layout,
            "shared" if cost.shared else "copied",
            text.seconds(cost.bridge_seconds),
            text.MISSING if cost.rate is None else f"{cost.rate / 1e6:,.0f}",
        )
        for cost in costs(document)
        if cost.direction == direction
    ]


def refusals(document: Mapping[str, Any]) -> list[str]:
    """Return in words each way over a bridge that TensorFlow refuses, with its reason; older files have none."""
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


def _check(document: Mapping[str, Any]) -> None:
    table(document, DIRECTIONS[0])
    copy_rate(document)
    hazards(document)


_KIND = Kind("pyopbench copies", SCHEMA, _check)


HEADINGS = ("direction", "way", "host memory")
LATENCIES = "time of a copy between host and GPU"
RATES = "bytes per second of a copy between host and GPU, in GB/s"


def tables(document: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Return title, columns and rows of what copies took and at which rate, by bytes; nothing without a GPU."""
    if "transfers" not in document:
        return []
    rows = document["transfers"]["rows"]
    sizes = sorted({int(row["bytes"]) for row in rows})
    columns = (*HEADINGS, *map(text.byte_count, sizes))
    return [(title, columns, _lines(rows, sizes, show)) for title, show in ((LATENCIES, _seconds), (RATES, _rate))]


def _lines(
    rows: list[Mapping[str, Any]], sizes: list[int], show: Callable[[Mapping[str, Any]], str]
) -> list[tuple[str, ...]]:
    ways: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        ways.setdefault((row["direction"], row["way"]), {})[int(row["bytes"])] = row
    return [(*way, _memory(by_size), *(_cell(by_size, size, show) for size in sizes)) for way, by_size in ways.items()]


def _cell(by_size: Mapping[int, Mapping[str, Any]], size: int, show: Callable[[Mapping[str, Any]], str]) -> str:
    return show(by_size[size]) if size in by_size else text.MISSING


def _memory(by_size: Mapping[int, Mapping[str, Any]]) -> str:
    """Return the kinds of memory that the profiler told of, over all sizes."""
    kinds = dict.fromkeys(kind for row in by_size.values() for kind in row["memory"])
    return ", ".join(kinds) or "not told"


def _seconds(row: Mapping[str, Any]) -> str:
    return text.seconds(row["seconds"])


def _rate(row: Mapping[str, Any]) -> str:
    return f"{row['bytes'] / row['seconds'] / 1e9:.3g}"


def devices(document: Mapping[str, Any]) -> str:
    """Return in one sentence on what the copies were made, and what held the GPU back meanwhile."""
    transfers = document["transfers"]
    gpus = [gpu for reading in transfers["gpu"] for gpu in reading["gpus"]]
    held = dict.fromkeys(word for gpu in gpus for word in gpu["held_back_by"] or ())
    told = f"Copies between host and GPU were made on {text.listing(transfers['environment']['devices'])}"
    if not gpus:
        return f"{told}; its clocks are not known: {transfers['gpu'][-1]['reason']}."
    return f"{told}; what held its clocks back before and after: {text.listing(list(held)) or 'nothing'}."

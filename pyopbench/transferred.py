"""Copies between host and GPU as rows for people, from the part of the file of copies that a GPU adds to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyopbench import text

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

"""What `pyopbench placement` prints: copies between host and device per call, and the time of copies to a GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from rich.markup import escape

from pyopbench.cli.output import out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.places import ROUTES

ARROWS = {route: f"{route.inputs[0]}→{route.result[0]}" for route in ROUTES}


def print_copies(document: Mapping[str, Any]) -> None:
    """Print copies by op, variant and route, and why some were not counted."""
    kind = "a simulated device" if document["device"] == "simulated" else "a GPU"
    out.print(
        f"Copies in one call of a tf.function with new inputs, on {kind} (TensorFlow "
        f"{escape(document['tensorflow'])}): ↑ to the device, ↓ to the host. h→d: inputs on the host, result used on "
        "the device.\n"
    )
    for (op, direction), rows in groupby(document["rows"], lambda row: (row["op"], row["direction"])):
        columns = ("variant", *ARROWS.values())
        print_table(f"{op}, {formatting.direction(direction)}", columns, _table(list(rows)))
    reasons: dict[tuple[str, str], list[str]] = {}
    refused = [{**row, "status": "refused", "reason": row["refused"]} for row in document["rows"] if "refused" in row]
    for one in (*document["failures"], *refused):
        where = f"{one['op']}/{one['variant']} {one['direction']}"
        reasons.setdefault((one["status"], one["reason"]), []).append(where)
    for (status, reason), places in reasons.items():
        more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
        say(escape(f"{status}  {places[0]}{more}: {reason}"))
    if "times" in document:
        _print_times(document["times"])


def _table(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for row in rows:
        cells.setdefault(row["variant"], {})[row["inputs"], row["result"]] = _cell(row)
    return [(variant, *(line[route] for route in ARROWS)) for variant, line in cells.items()]


def _cell(row: Mapping[str, Any]) -> str:
    if "refused" in row:
        return formatting.MISSING
    ways = [f"{row[way][0]}{arrow}" for way, arrow in (("to_device", "↑"), ("to_host", "↓")) if row[way][0]]
    return " ".join(ways) or "none"


def _print_times(times: Mapping[str, Any]) -> None:
    sizes = sorted({row["bytes"] for row in times["rows"]})
    seconds: dict[tuple[str, str], dict[int, float]] = {}
    for row in times["rows"]:
        seconds.setdefault((row["direction"], row["way"]), {})[row["bytes"]] = row["seconds"]
    rows = [
        (*names, *(formatting.seconds(found[size]) for size in sizes), f"{sizes[-1] / found[sizes[-1]] / 1e9:.3g}")
        for names, found in seconds.items()
    ]
    title = f"Time of one copy, on {formatting.listing(times['devices'])}"
    print_table(title, ("direction", "way", *map(formatting.byte_count, sizes), "GB/s"), rows)

"""`pyopbench placement`: copies between host and device per call, counted, and the time of copies to a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.markup import escape

from pyopbench.api.listeners import alone_on_this_machine
from pyopbench.cli.checked_values import read_axes
from pyopbench.cli.installing import announce
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import placement as engine
from pyopbench.engine.plan import require_gpu
from pyopbench.model import formatting
from pyopbench.model.case import GPU
from pyopbench.model.discover import require_known
from pyopbench.model.errors import EXIT_WRONG, BadInput
from pyopbench.model.places import ROUTES
from pyopbench.model.side import Environment
from pyopbench.model.write_file import write_atomically

ARROWS = {route: f"{route.inputs[0]}→{route.result[0]}" for route in ROUTES}


def placement(
    *,
    ops: Sequence[str],
    inputs: Sequence[str],
    seed_with: str,
    device: str,
    variants: Sequence[str],
    times: bool,
    tf: str | None,
    as_json: bool,
    out_path: Path | None,
) -> int:
    """Count copies between host and device per call, by variant and route, and return the exit code."""
    require_known("device", [device], engine.DEVICES)
    axes, own = read_axes(engine.EVERYTHING, ops, inputs, seed_with, {}, variants=variants)
    if times:
        if device != GPU or tf is not None:
            raise BadInput(
                "copies are timed on a GPU, with the TensorFlow that is installed",
                received=f"--time with --device {device}" + (f" and --tf {tf}" if tf else ""),
                hint="use --device gpu --time",
            )
        require_gpu()  # before it waits for another measurement to end
    announce([Environment(tf)])
    with err.status("counting") as status:
        document = engine.count(
            engine.CountRequest(axes, device, tf, own),
            lambda done, total: status.update(f"counting {done:,} of {total:,}"),
        )
    if times:
        with alone_on_this_machine(), err.status("timing"):
            document["times"] = engine.measure_copies()
    text = json.dumps(document, indent=1) + "\n"
    if out_path is not None:
        write_atomically(out_path, text.encode())
    if as_json:
        out.file.write(text)
    else:
        _print(document)
    return EXIT_WRONG if any(failure["status"] == "wrong" for failure in document["failures"]) else 0


def _print(document: Mapping[str, Any]) -> None:
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

"""`pyopbench placement` and `copies`: what crosses between host and device, counted, and what a copy costs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from pyopbench.api.listeners import alone_on_this_machine
from pyopbench.cli.checked_values import read_axes
from pyopbench.cli.installing import announce
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import copies as engine
from pyopbench.engine.plan import require_gpu
from pyopbench.model import formatting
from pyopbench.model.case import DEVICES, GPU, Case
from pyopbench.model.discover import require_known
from pyopbench.model.places import PINS, ROUTES
from pyopbench.model.side import Environment
from pyopbench.report import copy_costs_text as cost_wording
from pyopbench.report import counted_copies_text as wording
from pyopbench.store import copy_costs, counted_copies
from pyopbench.store.counted_copies import CopiesRow, Note

EXIT_WRONG = 1
TIMEOUT_SECONDS = 180.0
"""Of a case whose copies are counted, where nothing else is set."""
ARROWS = {(start, end): f"{start[0]}→{end[0]}" for start, end in ROUTES}


def placement(
    *,
    ops: Sequence[str],
    inputs: Sequence[str],
    seed_with: str,
    device: str,
    axis: Any,
    settings: Any,
    tf: str | None,
    as_json: bool,
    out_path: Path | None,
    **fields: Sequence[str],
) -> int:
    """Count copies between host and device per call, by variant, pinning and place of the data."""
    require_known("device", [device], engine.DEVICES)
    axes, own = read_axes(engine.EVERYTHING, ops, inputs, seed_with, axis, **fields)
    announce([Environment(tf)])
    with err.status("counting") as status:
        document = engine.count(
            engine.CountRequest(axes, device, dict(settings).get("case_timeout", TIMEOUT_SECONDS), tf, own),
            lambda done, total: status.update(f"counting {done:,} of {total:,}"),
        )
    if out_path is not None:
        counted_copies.write(out_path, document)
    if as_json:
        out.file.write(counted_copies.as_json(document))
    else:
        _print(document)
        if out_path is not None:
            out.print(f"written: {out_path}", soft_wrap=True, markup=False)
    wrong = any(failure["status"] == "wrong" for failure in document["failures"])
    return EXIT_WRONG if wrong else 0


def _print(document: Mapping[str, Any]) -> None:
    rows = counted_copies.rows_of(document)
    kind = "simulated device" if document["device"] == "simulated" else "GPU"
    out.print(
        f"Copies per call on a {kind}, TensorFlow {escape(document['tensorflow'])}, with new inputs in each call: "
        "↑ to the device, ↓ to the host. h→d: inputs on the host, result used on the device. "
        f"{wording.marks_text()}.\n"
    )
    for op in document["ops"]:
        _print_op(op, [row for row in rows if row.case.op == op], kind)
    _print_failures(document["failures"])


def _print_op(op: str, rows: Sequence[CopiesRow], kind: str) -> None:
    for setting in counted_copies.SETTINGS:
        there = [row for row in rows if (row.case.mode, row.case.direction) == setting]
        if there:
            title = f"{op}, {formatting.direction(setting[1])}, {wording.MODE_WORDS[setting[0]]} ({kind})"
            print_table(title, ("variant", "pinned", *ARROWS.values()), _table_rows(there))
    _print_notes(rows)
    savings = counted_copies.remedy_savings(rows, engine.REMEDIES)
    places = counted_copies.copies_at_places(op, rows)
    for sentence in (*map(wording.remedy_text, savings), *map(wording.place_text, places)):
        out.print(f"- {sentence}", markup=False)
    out.print()


def _table_rows(rows: Iterable[CopiesRow]) -> list[tuple[str, ...]]:
    """Return a line for each variant, with pinnings that copy alike in one."""
    cells: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for variant, pinned, line in _by_pin(rows):
        cells.setdefault(variant, {}).setdefault(line, []).append(pinned)
    return [(variant, _pins(pins), *line) for variant, lines in cells.items() for line, pins in lines.items()]


def _pins(pins: Sequence[str]) -> str:
    return "any" if len(pins) == len(PINS) else ", ".join(pins)


def _by_pin(rows: Iterable[CopiesRow]) -> list[tuple[str, str, tuple[str, ...]]]:
    found: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
    for row in rows:
        found.setdefault((row.case.variant, row.pinned), {})[row.route] = wording.count_text(row)
    return [(variant, pinned, tuple(line[route] for route in ARROWS)) for (variant, pinned), line in found.items()]


def _print_notes(rows: Sequence[CopiesRow]) -> None:
    """Print each note once, with the variants and places that it holds for."""
    notes: dict[Note, dict[str, list[str]]] = {}
    for row in rows:
        for note in counted_copies.notes(row):
            notes.setdefault(note, {}).setdefault(row.case.variant, []).append(row.pinned)
    for note, variants in notes.items():
        named = [f"{name} ({_pins(tuple(dict.fromkeys(pins)))})" for name, pins in variants.items()]
        out.print(f"- {', '.join(named)}: {wording.note_text(note)}", markup=False)


def _print_failures(failures: Sequence[Mapping[str, Any]]) -> None:
    reasons: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        case = Case.from_id(failure["case"])
        where = f"{case.op}/{case.variant} {case.mode} {case.direction} {failure['pinned']}"
        reasons.setdefault((failure["status"], failure["reason"]), []).append(where)
    for (status, reason), places in reasons.items():
        more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
        say(escape(f"{status}  {places[0]}{more}: {reason}"))


def copies(*, device: str, as_json: bool, out_path: Path | None) -> None:
    """Show which tensor-array conversions share memory, and what copying costs in the others."""
    require_known("device", [device], DEVICES)
    if device == GPU:
        require_gpu()  # before it waits for another measurement to end
    with alone_on_this_machine(), err.status("measuring"):
        document = engine.measure_with_gpu() if device == GPU else engine.measure_bridges()
    if out_path is not None:
        copy_costs.write(out_path, document)
    if as_json:
        out.print_json(json.dumps(document))
        return
    size = formatting.byte_count(copy_costs.largest_bytes(document))
    for direction in copy_costs.DIRECTIONS:
        title = f"{direction}, on the host (TensorFlow {document['environment']['tensorflow']})"
        print_table(title, cost_wording.COLUMNS, cost_wording.table(document, direction))
    say(f"MB/s: for an array of {size}, without the cost of one element. –: nothing is copied, or it is lost in noise.")
    for sentence in (cost_wording.hazards(document), *cost_wording.refusals(document)):
        out.print(sentence, markup=False)
    if copy_costs.has_gpu(document):
        for title, columns, rows in cost_wording.gpu_tables(document):
            print_table(title, columns, rows)
        out.print(cost_wording.gpu_devices(document), markup=False)
    if out_path is not None:
        out.print(f"written: {out_path}", soft_wrap=True, markup=False)

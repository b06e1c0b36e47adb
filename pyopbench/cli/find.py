"""Prints what `pyopbench scan`, `record` and `placement` found: callbacks, their cost in a program, and copies."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.find import usage
from pyopbench.find.call_sites import CallSite
from pyopbench.find.risks import COMMON_RISKS
from pyopbench.find.scan import Scan
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT, ROUTES

FORMAT_VERSION = 1
"""Of the JSON; raised when a key changes its meaning or goes."""


def print_scan_json(found: Scan) -> None:
    """Print callbacks as JSON."""
    document = {"version": FORMAT_VERSION, "common_risks": COMMON_RISKS, **dataclasses.asdict(found)}
    out.print_json(json.dumps(document))


def print_scan(found: Scan) -> None:
    """Print callbacks by file, with their risks."""
    for file, sites in groupby(found.sites, key=lambda site: site.file):
        out.print(f"[bold]{escape(file)}[/]", soft_wrap=True)
        for site in sites:
            _print_site(site)
        out.print()
    if found.broken:
        out.print("[italic]Not scanned[/]")
        for broken in found.broken:
            say(f"{escape(broken.file)}: {escape(broken.reason)}")
        out.print()
    if found.skipped:
        count = formatting.count(len(found.skipped), "folder")
        out.print(f"{count} skipped: hidden, of a virtual environment, or with results of advise")
    total = len(found.sites)
    out.print(f"{formatting.count(total, 'callback')}, {formatting.count(len(found.broken), 'file')} not scanned")
    if total:
        out.print("every callback:")
        for risk in COMMON_RISKS:
            say(risk, mark="  ")


def _print_site(site: CallSite) -> None:
    form = "" if site.form == "call" else f", {site.form}"
    sure = "" if site.certain else ", by its name alone"
    body = f" of {escape(formatting.shorten(site.body, 40))}" if site.body else ""
    cell = f", cell {site.cell} line {site.cell_line}" if site.cell else ""
    out.print(f"  {site.line}:{site.column}  [bold]{site.kind}[/]{body} in {escape(site.function)}{form}{sure}{cell}")
    out.print(f"      {site.context}, gradient: {site.gradient.replace('_', ' ')}")
    for risk in site.risks:
        say(escape(risk.text), mark="      - ")


MOST_SITES = 10
"""Sites that are shown; all of them are in the file."""


def print_usage(used: usage.Usage, file: Path, command: Sequence[str]) -> None:
    """Print what the callbacks of a program cost it, and what to do about them."""
    err.print()
    for trouble in used.troubles:
        say(f"[yellow]warning:[/] not everything could be recorded: {escape(trouble)}", err)
    if not used.sites:
        err.print("no callback was called, or Python ran with -I, -E or -S and did not read PYTHONPATH")
        err.print(f"recording: {escape(str(file))}", soft_wrap=True)
        return
    rows = [_usage_row(number, site, used) for number, site in enumerate(used.sites[:MOST_SITES], start=1)]
    columns = ("#", "callback", "calls", "gradients", "body", "of the run")
    processes = formatting.count(used.processes, "process", "processes")
    print_table(f"Callbacks in {formatting.seconds(used.seconds)} of {processes}", columns, rows, console=err)
    more = len(used.sites) - MOST_SITES
    if more > 0:
        err.print(f"and {formatting.count(more, 'site')} more")
    say(
        "body: time per forward call. In brackets: share of the time between the first and the last callback. Shares "
        "are lower bounds: what TensorFlow does around the body, and waiting for the GIL, is not included, and a port "
        "can save more.",
        err,
    )
    if used.input_share is not None:
        say(_input_text(used.input_share), err)
    mixes = usage.write_mixes(used, file)
    for number, path in list(mixes.items())[:MOST_SITES]:
        sizes = list(used.sites[number - 1].calls_by_size)
        count, span = formatting.count(len(sizes), "size"), formatting.size_range(sizes[0], sizes[-1])
        err.print(
            f"mix of #{number}: {escape(str(path))}, {count} (elements of the largest input): {span}", soft_wrap=True
        )
    err.print(f"recording: {escape(str(file))}", soft_wrap=True)
    if any(used.may_pay(site) for site in used.sites):
        say("is a port worth it?", err)
        err.print(f"  {escape(shlex.join(['pyopbench', 'advise', '--', *command]))}", soft_wrap=True)
    else:
        say(
            f"not worth a port: every callback takes less than {formatting.percent(MINIMUM_EFFECT)} of that time (with "
            f"{formatting.seconds(usage.DISPATCH_SECONDS)} a call for what is not seen around the body), or the "
            "program does not wait for it.",
            err,
        )


def _usage_row(number: int, site: usage.SiteUsage, used: usage.Usage) -> tuple[object, ...]:
    forward = site.forward
    place = f"{Path(site.file).name}:{site.line} {site.body} ({site.kind}, {site.mode})"
    return (
        number,
        place,
        forward.calls,
        site.gradient.calls,
        formatting.seconds(forward.seconds / forward.calls if forward.calls else None),
        _share(site, used),
    )


def _share(site: usage.SiteUsage, used: usage.Usage) -> str:
    shares = [site.seconds / whole for whole in (used.seconds, used.called_seconds) if whole]
    whole, *between = ["< 0.1%" if one < 0.001 else formatting.percent(one) for one in shares]
    return " ".join([whole if whole.startswith("<") else f"≥ {whole}", *(f"({one})" for one in between)])


def _input_text(found: usage.InputShare) -> str:
    waited = f"The program waited for its input {formatting.percent(found.waited)} of that time"
    if found.is_hidden:
        return f"{waited}: its input pipelines keep up, so a port of their callbacks would save little."
    return (
        f"{waited}; callbacks in input pipelines take at least {formatting.percent(found.callbacks)}, all threads "
        "together. `pyopbench pipeline` measures what a change saves."
    )


ARROWS = {(inputs, result): f"{inputs[0]}→{result[0]}" for inputs, result in ROUTES}


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

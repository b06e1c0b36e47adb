"""`pyopbench probe`: what each variant can do on this TensorFlow, tried live; and two such files side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from pyopbench.cli.installing import announce
from pyopbench.cli.output import err, out
from pyopbench.engine import probe as probing
from pyopbench.model import formatting
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import is_target
from pyopbench.model.parse import split_some
from pyopbench.model.printable import printable
from pyopbench.model.side import Environment
from pyopbench.store import probes as stored_probes
from pyopbench.store.probes import BAD, STATUSES, ProbeRow

INDENT = 2
NOT_TRIED = "not tried"


def probe(
    *,
    files: Sequence[Path],
    probes: Sequence[str],
    ops: Sequence[str],
    inputs: Sequence[str],
    seed_with: str,
    variants: Sequence[str],
    tf: str | None,
    timeout_seconds: float | None,
    as_json: bool,
    out_path: Path | None,
) -> None:
    """Try what each variant supports on this TensorFlow: SavedModel, XLA, threads, ..."""
    if files:
        _show_files(files, as_json=as_json)
        return
    names, own = read_ops(_ops(ops), inputs, seed_with)
    options = probing.ProbeOptions(Environment(tf), timeout_seconds or probing.TIMEOUT_SECONDS, own)
    announce([Environment(tf)])
    with err.status("probing") as status:
        attempts = probing.all_attempts(list(probes), list(variants), options, names)
        document = probing.try_all(
            attempts, options, lambda done, total: status.update(f"probing {done:,} of {total:,}")
        )
    probing.keep(document, own)
    if out_path is not None:
        probing.add_to(out_path, document)
    _show(document, as_json=as_json)
    if out_path is not None and not as_json:
        out.print(f"written: {out_path}", soft_wrap=True, markup=False)


def _ops(given: Sequence[str]) -> list[str]:
    """Return what names ops: a list of names may have commas, what names a file or a module is one."""
    return [one for text in given for one in ([text] if is_target(text) else split_some("op", [text]))]


def _show_files(files: Sequence[Path], *, as_json: bool) -> None:
    if len(files) > 2:
        raise BadInput(
            "at most two files can be compared",
            received=len(files),
            hint="compare them two at a time",
        )
    documents = [stored_probes.read(path) for path in files]
    if len(documents) == 1:
        _show(documents[0], as_json=as_json)
    else:
        _show_changes(*documents, as_json=as_json)


def _show(document: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        out.print_json(json.dumps(document))
        return
    rows = stored_probes.rows_of(document)
    told = stored_probes.told_once([row for row in rows if row.status != "does not apply"])
    everyone = len(stored_probes.labels_of(rows))
    table = [(_tried(one.op, one.probe), one.status, _who(one.labels, everyone), one.told) for one in told]
    software = f"TensorFlow {document['tensorflow']}, NumPy {document['numpy']}"
    out.print(f"[italic]What works on {escape(software)}[/]\n")
    _print_by_probe(table)
    counts = [f"{sum(row.status == status for row in rows):,} {status}" for status in STATUSES]
    out.print(f"{', '.join(counts)}; {sum(row.seconds for row in rows):.0f} s", soft_wrap=True)


def _print_by_probe(table: Iterable[tuple[str, ...]]) -> None:
    """Print what came of probes: the name of each, and below it a row of what stands first and all that is told."""
    rows = list(table)
    width = max((len(first) for _, first, *_ in rows), default=0)
    for name, found in groupby(rows, key=itemgetter(0)):
        out.print(f"[bold]{escape(name)}[/]")
        grid = Table(box=None, show_header=False, pad_edge=False)
        grid.add_column(width=INDENT + width)
        grid.add_column(overflow="fold")
        for _, first, *told in found:
            grid.add_row(" " * INDENT + escape(printable(first)), escape(printable("\n".join(filter(None, told)))))
        out.print(grid)
    out.print()


def _tried(op: str | None, probe: str) -> str:
    return probe if op is None else f"{probe} with {op}"


def _who(labels: Sequence[str], everyone: int) -> str:
    return "all" if everyone > 1 and len(labels) == everyone else ", ".join(labels)


def _show_changes(before: Mapping[str, Any], after: Mapping[str, Any], *, as_json: bool) -> None:
    found = stored_probes.changes(before, after)
    if as_json:
        cells = ({"op": one.op, "probe": one.probe, "label": one.label} for one in found)
        statuses = ({"before": _status(one.before), "after": _status(one.after)} for one in found)
        out.print_json(json.dumps([{**cell, **status} for cell, status in zip(cells, statuses, strict=True)]))
        return
    names = [f"TensorFlow {document['tensorflow']}" for document in (before, after)]
    out.print(f"[italic]What differs: {escape(' → '.join(names))}[/]\n")
    _print_by_probe(
        (
            _tried(one.op, one.probe),
            one.label,
            f"{_status(one.before)} → {_status(one.after)}",
            _words(one.before, one.after),
        )
        for one in found
    )
    same = {row.key for row in stored_probes.rows_of(before)} & {row.key for row in stored_probes.rows_of(after)}
    differing = sum((one.op, one.probe, one.label) in same for one in found)
    out.print(f"{differing:,} of {formatting.count(len(same), 'result')} in both files differ", soft_wrap=True)


def _status(row: ProbeRow | None) -> str:
    return NOT_TRIED if row is None else row.status


def _words(*rows: ProbeRow | None) -> str:
    return " / ".join(_told(rows))


def _told(rows: Iterable[ProbeRow | None]) -> list[str]:
    return [row.told for row in rows if row is not None and row.status in BAD and row.told]

"""`pyopbench check` and `merge`: what of stored results is whole, and those of several machines as one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.ownership import require_own

if TYPE_CHECKING:
    from pyopbench.store.merge import Merging


EXIT_CHANGED = 1
MOST_SHOWN = 20
"""So many findings of a check, holes of a plan and units without a result are printed."""


def check(path: Path, *, as_json: bool) -> int:
    """Check stored results against their checksums: which files and lines are unchanged?"""
    import json

    from pyopbench.store.check import check as check_all

    found = check_all(path)
    told = [asdict(one) for one in found]
    if as_json:
        out.print_json(json.dumps(told, default=str))
    else:
        for one in told:
            _print_state(one)
    return 0 if all(one.is_fine for one in found) else EXIT_CHANGED


def _print_state(told: dict[str, Any]) -> None:
    rows = [
        (f"{one['path'].name}{'' if one['line'] is None else ':' + str(one['line'])}", one["condition"], one["told"])
        for one in told["files"]
    ]
    rows.sort(key=lambda row: row[1] == "whole")
    print_table(f"Files of {told['folder']}", ("file", "state", "why"), rows[:MOST_SHOWN])
    if len(rows) > MOST_SHOWN:
        out.print(f"and {len(rows) - MOST_SHOWN:,} more, in --json")
    left = told["contents"]
    if left is None:
        return
    of = "" if left["planned"] is None else f" of {left['planned']:,}"
    launches = formatting.count(left["launches"], "launch", "launches")
    end = "" if left["ended"] else "; the run was interrupted, or the end of the file is missing"
    say(f"intact: samples of {left['cases']:,}{of} cases from {launches}{end}")


def merge(*, shards: Sequence[Path], out_path: Path, allow_missing: bool) -> None:
    """Merge the shards of a plan into one run, with the environment of each machine."""
    from pyopbench.store.merge import merge as merged

    require_own(out_path)
    with err.status("merging"):
        found = merged(list(shards), out_path, allow_missing=allow_missing)
    _print_merging(found)


def _print_merging(found: Merging) -> None:
    for hole in found.holes[:MOST_SHOWN]:
        where = "" if hole.folder is None else f" in {hole.folder}"
        number = "" if hole.index is None else f" shard {hole.index}"
        say(f"[yellow]{hole.kind}{number}:[/] {escape(hole.told + where)}")
    _print_rest(len(found.holes))
    for unit in found.lacking[:MOST_SHOWN]:
        say(f"[yellow]no result:[/] {escape(unit.replace('/', ' '))}")
    _print_rest(len(found.lacking))
    machines = formatting.count(len(found.hosts), "machine")
    say(f"{found.shards:,} of {found.of:,} shards, from {machines}; results in {escape(str(found.folder))}")
    out.print(f"  next: {escape(f'pyopbench report {found.folder}')}", soft_wrap=True)


def _print_rest(many: int) -> None:
    if many > MOST_SHOWN:
        out.print(f"and {many - MOST_SHOWN:,} more")

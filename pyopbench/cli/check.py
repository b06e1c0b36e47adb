"""`pyopbench check`: what of stored results is as it was written, and what a report can still say."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyopbench.cli.output import out, print_table, say
from pyopbench.model import formatting

EXIT_CHANGED = 1
MOST_SHOWN = 20
"""Findings that are printed; all of them are in --json."""


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
            _print(one)
    return 0 if all(one.is_fine for one in found) else EXIT_CHANGED


def _print(told: dict[str, Any]) -> None:
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

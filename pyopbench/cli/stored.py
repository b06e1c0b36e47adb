"""`pyopbench merge`: results of several machines as one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.output import err, out, say
from pyopbench.model import formatting

if TYPE_CHECKING:
    from pyopbench.store.merge import Merging


MOST_SHOWN = 20
"""So many holes of a plan and units without a result are printed."""


def merge(*, shards: Sequence[Path], out_path: Path, allow_missing: bool) -> None:
    """Merge the shards of a plan into one run, with the environment of each machine."""
    from pyopbench.store.merge import merge as merged

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

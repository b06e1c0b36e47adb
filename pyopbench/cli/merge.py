"""`pyopbench merge`: puts the results of several machines together as one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pyopbench.cli.options import AllowChanged, Quiet, TrustFolder, out_option
from pyopbench.cli.output import err, out, say
from pyopbench.model import formatting
from pyopbench.model.ownership import require_own

if TYPE_CHECKING:
    from pyopbench.store.merge import Merging

MOST_SHOWN = 20
"""Holes, and units without a result, that are printed."""


def merge(
    shards: Annotated[
        list[Path], typer.Argument(metavar="SHARD", help="Folders of pyopbench run --shard I/N, all of one plan.")
    ],
    out_dir: Annotated[Path, out_option("DIR", "New folder for the whole run.")],
    allow_missing: Annotated[
        bool, typer.Option("--allow-missing", help="Merge what is there, and list what is missing or unfinished.")
    ] = False,
    trust_folder: TrustFolder = False,
    allow_changed: AllowChanged = False,
    quiet: Quiet = False,
) -> None:
    """Merge the shards of a plan into one run, with the environment of each machine."""
    from pyopbench.store.merge import merge as merged

    require_own(out_dir)
    with err.status("merging"):
        found = merged(shards, out_dir, allow_missing=allow_missing)
    _print(found)


def _print(found: Merging) -> None:
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

"""`pyopbench fleet`: the shards of a plan, measured by many machines over Dask, and put together as one run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from pyopbench.cli.output import err, out, say
from pyopbench.model import formatting
from pyopbench.model.errors import EXIT_WRONG, BadInput
from pyopbench.model.printable import printable

if TYPE_CHECKING:
    from pyopbench.store.merge import Merging

NOT_FOR_WORKERS = {
    "--shard": "leave it out: --shards N divides the plan",
    "--rev": "leave it out: workers have no repository of yours",
}
"""Options of `run` that workers are not given, and what to do instead."""


def run_fleet(context: typer.Context, *, scheduler: str, shards: int | None, out_path: Path | None) -> int:
    """Measure the shards of a plan on the workers of a Dask scheduler; all other words are those of `pyopbench run`."""
    from pyopbench.engine.fleet import measure_shards
    from pyopbench.engine.plan import new_folder

    for word in context.args:
        name = word.partition("=")[0]
        if name in NOT_FOR_WORKERS:
            raise BadInput("fleet does not take this option", received=word, hint=NOT_FOR_WORKERS[name])
    found = measure_shards(
        scheduler,
        context.args,
        out_path or new_folder(),
        shards,
        lambda text: say(escape(printable(text)), err),
    )
    _print(found.merging)
    return EXIT_WRONG if found.is_wrong else 0


def merge(*, shards: Sequence[Path], out_path: Path) -> None:
    """Merge the shards of a plan into one run, with the environment of each machine."""
    from pyopbench.store.merge import merge as merge_all

    with err.status("merging"):
        merging = merge_all(shards, out_path)
    _print(merging)


def _print(merging: Merging) -> None:
    machines = formatting.count(len(merging.hosts), "machine")
    shards = formatting.count(merging.shards, "shard")
    say(f"{shards}, from {machines}; results in {escape(str(merging.folder))}")
    out.print(f"  next: {escape(f'pyopbench report {shlex.quote(str(merging.folder))}')}", soft_wrap=True)

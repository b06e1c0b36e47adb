"""What `pyopbench fleet` prints of shards that were merged."""

from __future__ import annotations

import shlex

from rich.markup import escape

from pyopbench.cli.output import out, say
from pyopbench.model import formatting
from pyopbench.store.merge import Merging


def print_merging(merging: Merging) -> None:
    """Print of what and into what shards were merged, and what comes next."""
    machines = formatting.count(len(merging.hosts), "machine")
    shards = formatting.count(merging.shards, "shard")
    say(f"{shards}, from {machines}; results in {escape(str(merging.folder))}")
    out.print(f"  next: {escape(f'pyopbench report {shlex.quote(str(merging.folder))}')}", soft_wrap=True)

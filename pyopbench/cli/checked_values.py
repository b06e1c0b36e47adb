"""What is read from the options that several commands have: axes and shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyopbench.cli.options import read, read_names
from pyopbench.engine import plan
from pyopbench.engine.plan import ShardChoice
from pyopbench.model.case import Axes
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps
from pyopbench.model.parse import parse_axes, parse_shard


def read_axes(
    usual: Axes,
    ops: Sequence[str] | None,
    inputs: Sequence[str] | None,
    seed_with: str,
    axis: Sequence[str] | None,
    variants: Sequence[str] | None,
) -> tuple[Axes, OwnOps]:
    """Return `usual` with what the command line gives in place of it, checked, and the own ops among the ops."""
    names, own = read_ops(ops or (), inputs or (), seed_with)
    given: dict[str, Any] = {"ops": tuple(names), "variants": read_names("--variant", variants)}
    given |= read("--axis", parse_axes, axis or ())
    axes = replace(usual, **{name: values for name, values in given.items() if values})
    plan.check_axes(axes, own)
    return axes, own


def read_shard(shard: str | None, revisions: Sequence[str]) -> ShardChoice | None:
    """Return the shard that is asked for; None for the whole plan.

    Raises:
        BadInput: it is no shard, or the run is one over revisions.
    """
    if shard is None:
        return None
    if revisions:
        raise BadInput(
            "a run over revisions is not divided into shards",
            received=f"--shard {shard} with --rev",
            hint="measure the revisions on one machine",
        )
    return ShardChoice(*parse_shard(shard))

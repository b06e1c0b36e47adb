"""What is read from the options that several commands have: axes and shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyopbench.engine import plan
from pyopbench.engine.shards import ShardChoice
from pyopbench.model.case import Axes
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import OwnOps
from pyopbench.model.parse import parse_shard


def read_axes(
    default: Axes, ops: Sequence[str], inputs: Sequence[str], seed_with: str, axis: Any, **fields: Sequence[str]
) -> tuple[Axes, OwnOps]:
    """Return `default` with what is given on the command line in place of it, checked, and the own ops among the ops.

    Args:
        default: what is covered where nothing is given.
        ops: as named on the command line.
        inputs: examples of arguments.
        seed_with: what runs before each call.
        axis: as from `parse_axes`.
        fields: of `Axes`; empty ones are not given.
    """
    names, own = read_ops(ops, inputs, seed_with)
    given = {"ops": tuple(names), **fields, **dict(axis)}
    axes = replace(default, **{name: values for name, values in given.items() if values})
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

"""What is read from the options that several commands have: axes, how to judge, limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopbench.engine import memory, plan
from pyopbench.engine.shards import ShardChoice
from pyopbench.judge import judge, requirements
from pyopbench.model.case import Axes
from pyopbench.model.discover import bring_own
from pyopbench.model.errors import BadInput
from pyopbench.model.parse import apply_axes, parse_bytes, parse_shard, parse_share, split_some

if TYPE_CHECKING:
    from pyopbench.judge.step_savings import Step


def read_axes(
    default: Axes,
    ops: list[str] | None,
    variant: list[str] | None,
    gradient: list[str] | None,
    direction: list[str] | None,
    mode: list[str] | None,
    device: list[str] | None,
    axis: list[str] | None,
    inputs: list[str] | None = None,
    seed_with: str = "",
) -> Axes:
    """Return `default` with what is given on the command line in place of it, checked; own ops are brought in."""
    given = {
        "ops": bring_own(ops or (), inputs or (), seed_with),
        "variants": variant,
        "gradients": gradient,
        "directions": direction,
        "modes": mode,
        "placements": device,
    }
    chosen: dict[str, Any] = {name: split_some(name, values) for name, values in given.items() if values}
    axes = apply_axes(replace(default, **chosen), axis or ())
    plan.check_axes(axes)
    return axes


def read_memory_limit(limit: str | None) -> int | None:
    """Return how much memory a worker may take, in bytes; None where nothing is said."""
    if limit is None:
        return None
    limit_bytes = parse_bytes(limit)
    memory.require_limitable(limit_bytes)
    return limit_bytes


def read_shard(shard: str | None, replicates: int, revisions: Sequence[str] | None) -> ShardChoice | None:
    """Return the shard that is asked for; None for the whole plan.

    Raises:
        BadInput: it is no shard, replicates are asked for without one, or the run is one over revisions.
    """
    if shard is None and replicates == 1:
        return None
    if shard is None or revisions:
        raise BadInput(
            "--replicates needs --shard" if shard is None else "a run over revisions is not divided into shards",
            received=f"--replicates {replicates} without --shard" if shard is None else f"--shard {shard} with --rev",
            legal="--shard I/N, without --rev",
            hint="for example --shard 1/4" if shard is None else "measure the revisions on one machine",
        )
    return ShardChoice(*parse_shard(shard), replicates)


def read_judging(
    baseline: str,
    mix: Path | None,
    minimum_effect: str,
    require: list[str] | None = None,
    calls_per_step: float | None = None,
    step_ms: float | None = None,
) -> judge.Judging:
    """Return how to judge, with the mix read from its file and the requirements checked."""
    requires = requirements.check(split_some("requirement", require) if require else ())
    effect = parse_share("--min-effect", minimum_effect)
    from pyopbench.store.mix_file import read_mix

    calls = None if mix is None else read_mix(mix)
    return judge.Judging(baseline, effect, calls, _read_step(calls_per_step, step_ms), requires)


def _read_step(calls: float | None, milliseconds: float | None) -> Step | None:
    if calls is None and milliseconds is None:
        return None
    given = f"--calls-per-step {calls:g}" if calls is not None else "no --calls-per-step"
    given += f" and --step-ms {milliseconds:g}" if milliseconds is not None else " and no --step-ms"
    if calls is None or milliseconds is None or not (0 < calls < math.inf and 0 < milliseconds < math.inf):
        raise BadInput(
            "not a step",
            received=given,
            legal="both of them, above 0",
            hint="for example --calls-per-step 1 --step-ms 120",
        )
    from pyopbench.judge.step_savings import Step

    return Step(calls, milliseconds / 1000)

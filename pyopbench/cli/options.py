"""The options that several commands have, and what is read from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyopbench.cli.output import err
from pyopbench.core import formatting
from pyopbench.core.discover import bring_own, find
from pyopbench.core.errors import BadInput
from pyopbench.core.model import MINIMUM_EFFECT, Axes
from pyopbench.core.ownership import trust
from pyopbench.core.parse import apply_axes, parse_bytes, parse_shard, parse_share, split_some
from pyopbench.judge import judge, requirements
from pyopbench.results.integrity import allowance
from pyopbench.run import memory_limit, planning
from pyopbench.run.shards import ShardChoice

if TYPE_CHECKING:
    from pyopbench.judge.step_savings import Step


def new_path(text: str) -> Path:
    """Return the path that is given for something to write; nothing is none, though Python takes it for this folder."""
    if not text:
        raise typer.BadParameter("a path that is not empty; . is the current folder")
    return Path(text)


def out_option(metavar: str, help_text: str) -> Any:
    """Return the option that names what is written."""
    return typer.Option("--out", parser=new_path, metavar=metavar, help=help_text)


def _named(kind: str) -> Callable[[str], list[str]]:
    """Return what completes the names of ops or variants in a shell; nothing is imported for it."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in find(kind) if name.startswith(incomplete)]

    return complete


def _hush(quiet: bool) -> bool:
    err.quiet = quiet
    return quiet


Ops = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OP",
        help="Ops to cover, all if none is named; your own as my_op.py, my_module.py:function or a.b:function.",
        autocompletion=_named("ops"),
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="EXPRESSION",
        help="Example of an argument of a function, in order or NAME=...: Python over np and rng, or a .npy file.",
    ),
]
SeedWith = Annotated[
    str,
    typer.Option(
        metavar="STATEMENT",
        help="Run before each call of a body that draws random numbers; {seed} in it is a number.",
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", help="Variants, comma-separated or repeated.", autocompletion=_named("variants")),
]
Gradients = Annotated[
    list[str] | None,
    typer.Option("--gradient", help="Gradient mechanisms, or `all`; the usual one of each variant."),
]
Directions = Annotated[list[str] | None, typer.Option("--direction", help="forward, backward, forward_backward.")]
Modes = Annotated[
    list[str] | None, typer.Option("--mode", help="node (one op in a graph; usual), call (of a tf.function), eager.")
]
Devices = Annotated[list[str] | None, typer.Option("--device", help="cpu, or gpu where TensorFlow sees one.")]
AxisTexts = Annotated[
    list[str] | None,
    typer.Option("--axis", metavar="NAME=VALUES", help="Any axis, e.g. size=1e3,1e6 or dtype=float64."),
]
TensorFlows = Annotated[
    list[str] | None,
    typer.Option("--tf", metavar="VERSION", help="TensorFlow in an environment of its own, by turns; repeated."),
]
TensorFlow = Annotated[
    str | None, typer.Option("--tf", metavar="VERSION", help="TensorFlow in an environment of its own.")
]
ShardText = Annotated[
    str | None, typer.Option("--shard", metavar="I/N", help="Measure part I of N of the plan; `merge` joins them.")
]
Replicates = Annotated[
    int, typer.Option("--replicates", min=1, help="Of the shards so many measure each part, on machines of their own.")
]
CaseTimeout = Annotated[str, typer.Option(help="Longest silence of one case, e.g. 60s.")]
Baseline = Annotated[str, typer.Option("--baseline", help="The callback of today, to which ratios are taken.")]
MixFile = Annotated[
    Path | None,
    typer.Option("--mix", help="CSV of size,weight or of shape, dtype and weight: how often each size is called."),
]
CallsPerStep = Annotated[
    float | None, typer.Option("--calls-per-step", help="Calls of the op in a step of your program; with --step-ms.")
]
StepMilliseconds = Annotated[
    float | None, typer.Option("--step-ms", help="Milliseconds of such a step: tells what a port is worth.")
]
MinimumEffect = Annotated[str, typer.Option("--min-effect", help="Smallest difference that counts, 3% or 0.03.")]
MinimumEffectOrUsual = Annotated[
    str | None,
    typer.Option("--min-effect", help="Smallest difference that counts: 3%, or a third of --fail-on slower:5%."),
]
USUAL_EFFECT = formatting.percent(MINIMUM_EFFECT)
MemoryLimit = Annotated[
    str | None,
    typer.Option(metavar="BYTES", help="Most memory of a worker, e.g. 8G; what wants more fails. Linux only."),
]
Requires = Annotated[
    list[str] | None,
    typer.Option("--require", help=f"What a port has to be able to do: {', '.join(requirements.NAMES)}."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_hush, help="No progress and no notes on stderr; errors only.")
]


def _allow_changed(allowed: bool) -> bool:
    allowance.changed = allowed
    return allowed


def _trust_folder(trusted: bool) -> bool:
    trust.everybody = trusted
    return trusted


TrustFolder = Annotated[
    bool, typer.Option("--trust-folder", callback=_trust_folder, help="Write into a folder of another user.")
]
AllowChanged = Annotated[
    bool,
    typer.Option(
        "--allow-changed", callback=_allow_changed, help="Read results that were changed after they were written."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON to stdout.")]


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
    planning.check_axes(axes)
    return axes


def read_memory_limit(limit: str | None) -> int | None:
    """Return how much memory a worker may take, in bytes; None where nothing is said."""
    if limit is None:
        return None
    limit_bytes = parse_bytes(limit)
    memory_limit.require_limitable(limit_bytes)
    return limit_bytes


def read_shard(shard: str | None, replicates: int, revisions: Sequence[str] | None) -> ShardChoice | None:
    """Return the shard that is asked for; None where the whole plan is.

    Raises:
        BadInput: it is no shard, replicates are asked for without one, or the run is one over revisions.
    """
    if shard is None and replicates == 1:
        return None
    if shard is None or revisions:
        raise BadInput(
            "--replicates is about shards" if shard is None else "a run over revisions is not divided into shards",
            received=f"--replicates {replicates} without --shard" if shard is None else f"--shard {shard} with --rev",
            legal="--shard I/N, without --rev",
            next_step="for example --shard 1/4" if shard is None else "measure the revisions on one machine",
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
    from pyopbench.results.mix_file import read_mix

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
            next_step="for example --calls-per-step 1 --step-ms 120",
        )
    from pyopbench.judge.step_savings import Step

    return Step(calls, milliseconds / 1000)

"""The options that several commands have, and what is read from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pyopbench import judging, runs
from pyopbench.arguments import apply_axes, split_some
from pyopbench.cli_output import err
from pyopbench.errors import BadInput
from pyopbench.files import find
from pyopbench.model import Axes


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
    typer.Argument(metavar="OP", help="Ops to cover; all if none is named.", autocompletion=_named("ops")),
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
    list[str] | None, typer.Option("--mode", help="call (of a tf.function), eager, node (one more op in a graph).")
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
Baseline = Annotated[str, typer.Option("--baseline", help="The callback of today, to which ratios are taken.")]
MixFile = Annotated[Path | None, typer.Option("--mix", help="CSV with size,weight: how often each size is called.")]
MinimumEffect = Annotated[float, typer.Option("--min-effect", help="Smallest difference that counts, as a share.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_hush, help="No progress and no notes on stderr; errors only.")
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
) -> Axes:
    """Return `default` with what is given on the command line in place of it, checked."""
    given = {
        "ops": ops,
        "variants": variant,
        "gradients": gradient,
        "directions": direction,
        "modes": mode,
        "placements": device,
    }
    chosen: dict[str, Any] = {name: split_some(name, values) for name, values in given.items() if values}
    axes = apply_axes(replace(default, **chosen), axis or ())
    runs.check_axes(axes)
    return axes


def read_judging(baseline: str, mix: Path | None, minimum_effect: float) -> judging.Judging:
    """Return how to judge, with the mix read from its file."""
    if not 0 < minimum_effect < 1:
        raise BadInput(
            "not a minimum effect",
            received=minimum_effect,
            legal="a share above 0 and below 1",
            next_step="for example --min-effect 0.03 for 3%",
        )
    if mix is None:
        return judging.Judging(baseline, minimum_effect)
    from pyopbench.mix import read_mix

    return judging.Judging(baseline, minimum_effect, read_mix(mix))

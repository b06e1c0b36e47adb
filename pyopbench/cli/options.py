"""The options that several commands have, each with its panel in --help."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pyopbench.cli.output import err
from pyopbench.judge import requirements
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.discover import find
from pyopbench.model.ownership import trust
from pyopbench.store.integrity import allowance


def new_path(text: str) -> Path:
    """Return the path that is given for something to write; nothing is none, though Python takes it for this folder."""
    if not text:
        raise typer.BadParameter("a path that is not empty; . is the current folder")
    return Path(text)


OWN, WHAT, LENGTH, JUDGING = "Your own op", "What to measure", "How long to measure", "How to judge it"
"""Panels of options in --help, behind the one that has --help itself."""


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
        help="Built-in names, my_op.py, my_module.py:function or package.module:function. Default: all.",
        autocompletion=_named("ops"),
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="EXPR",
        help="An example of an argument of your function: Python with np and rng, or a .npy file. Repeat.",
        rich_help_panel=OWN,
    ),
]
SeedWith = Annotated[
    str,
    typer.Option(
        metavar="CODE",
        help="Python to run before each call of a function that draws random numbers; may use {seed}.",
        rich_help_panel=OWN,
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        metavar="NAME",
        help="Only these variants (comma-separated or repeated).",
        autocompletion=_named("variants"),
        rich_help_panel=WHAT,
    ),
]
Gradients = Annotated[
    list[str] | None,
    typer.Option(
        "--gradient",
        metavar="NAME",
        help="How gradients are attached, or all. Default: the usual way of each variant.",
        rich_help_panel=WHAT,
    ),
]
Directions = Annotated[
    list[str] | None,
    typer.Option("--direction", metavar="NAME", help="forward, backward or forward_backward.", rich_help_panel=WHAT),
]
Modes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        metavar="NAME",
        help="node (the op inside a graph, the default), call (of a tf.function) or eager.",
        rich_help_panel=WHAT,
    ),
]
Devices = Annotated[
    list[str] | None,
    typer.Option("--device", metavar="NAME", help="cpu, or gpu if TensorFlow sees one.", rich_help_panel=WHAT),
]
AxisTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--axis", metavar="NAME=A,B", help="Any axis, e.g. size=1e3,1e6 or dtype=float64.", rich_help_panel=WHAT
    ),
]
TensorFlows = Annotated[
    list[str] | None,
    typer.Option(
        "--tf",
        metavar="VERSION",
        help="TensorFlow version, installed into its own environment. Repeat to compare versions.",
        rich_help_panel=WHAT,
    ),
]
TensorFlow = Annotated[
    str | None,
    typer.Option(
        "--tf",
        metavar="VERSION",
        help="TensorFlow version to use, installed into its own environment.",
        rich_help_panel=WHAT,
    ),
]
CaseTimeout = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="Give up on a case after this long without a sign of life.", rich_help_panel=LENGTH
    ),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="NAME",
        help="Your callback today. Default: as in the op file, else numpy_function; built-in: py_function_numpy.",
        rich_help_panel=JUDGING,
    ),
]
ShardText = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Measure only part I of N of the plan; `merge` puts the parts together.",
        rich_help_panel=WHAT,
    ),
]
Replicates = Annotated[
    int,
    typer.Option(
        "--replicates",
        min=1,
        metavar="N",
        help="How many machines measure each part, with --shard.",
        rich_help_panel=WHAT,
    ),
]
MixFile = Annotated[
    Path | None,
    typer.Option(
        "--mix",
        metavar="CSV",
        help="How often each size is called: a CSV with size and weight (or shape, dtype, weight).",
        rich_help_panel=JUDGING,
    ),
]
CallsPerStep = Annotated[
    float | None,
    typer.Option(
        "--calls-per-step",
        metavar="N",
        help="Calls of the op in one step of your program; needs --step-ms.",
        rich_help_panel=JUDGING,
    ),
]
StepMilliseconds = Annotated[
    float | None,
    typer.Option(
        "--step-ms",
        metavar="MS",
        help="How long such a step takes, to see what a port saves of it.",
        rich_help_panel=JUDGING,
    ),
]
MinimumEffect = Annotated[
    str,
    typer.Option(
        "--min-effect",
        metavar="SHARE",
        help="Smallest difference that matters, e.g. 3% or 0.03.",
        rich_help_panel=JUDGING,
    ),
]
USUAL_EFFECT = formatting.percent(MINIMUM_EFFECT)
MinimumEffectOrUsual = Annotated[
    str | None,
    typer.Option(
        "--min-effect",
        metavar="SHARE",
        help=f"Smallest difference that matters. Default: {USUAL_EFFECT}, or a third of what --fail-on names if less.",
        rich_help_panel=JUDGING,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES",
        help="Memory limit of a worker, e.g. 8G; a case that needs more fails. Linux only.",
        rich_help_panel=LENGTH,
    ),
]
Requires = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="NAME",
        help=f"Only recommend what supports these: {', '.join(requirements.NAMES)}.",
        rich_help_panel=JUDGING,
    ),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", callback=_hush, help="Print results and errors only."),
]


def _allow_changed(allowed: bool) -> bool:
    allowance.changed = allowed
    return allowed


def _trust_folder(trusted: bool) -> bool:
    trust.everybody = trusted
    return trusted


TrustFolder = Annotated[
    bool,
    typer.Option(
        "--trust-folder",
        callback=_trust_folder,
        help="Write into a folder that another user owns.",
    ),
]
AllowChanged = Annotated[
    bool,
    typer.Option(
        "--allow-changed",
        callback=_allow_changed,
        help="Read results that were changed after they were written.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

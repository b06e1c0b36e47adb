"""The options that only `pyopbench run` has."""

from __future__ import annotations

from typing import Annotated

import typer

from pyopbench.cli.options import LENGTH, WHAT

EXTRA = "What else to measure"
"""A panel of its own, because its options have two names and would leave the others little room."""

Quick = Annotated[
    bool,
    typer.Option("--quick", help="Few sizes and launches: an answer in minutes.", rich_help_panel=WHAT),
]
Launches = Annotated[
    int | None,
    typer.Option(
        min=2,
        metavar="N",
        help="Maximum number of launches (worker processes). With --rev or --tf, a budget is the usual limit.",
        rich_help_panel=LENGTH,
    ),
]
Rounds = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Maximum number of timed blocks of a case in one launch.",
        rich_help_panel=LENGTH,
    ),
]
WhenToStop = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="WHEN",
        help="Stop once answers are `decided` (default with --quick), once ratios are `resolved`, or at the `end`.",
        rich_help_panel=LENGTH,
    ),
]
Budget = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Stop measuring after this time, e.g. 5m; at least two launches are made.",
        rich_help_panel=LENGTH,
    ),
]
CaseTimeoutOrUsual = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Give up on a case after this long without a sign of life, e.g. 60s.",
        rich_help_panel=LENGTH,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Seed of the random order of measurement.", rich_help_panel=LENGTH),
]
Parts = Annotated[
    bool | None,
    typer.Option(
        "--parts/--no-parts",
        help="Split a callback's time into its parts. Default: yes, except with --rev.",
        rich_help_panel=EXTRA,
    ),
]
Linearity = Annotated[
    bool,
    typer.Option(
        "--linearity/--no-linearity",
        help="In mode node, measure 1, 2, 4 ... 32 copies to check that each costs the same.",
        rich_help_panel=EXTRA,
    ),
]
Probes = Annotated[
    bool,
    typer.Option(
        "--probes/--no-probes",
        help="Try what the current callback prevents: SavedModel, XLA ... Once per machine.",
        rich_help_panel=EXTRA,
    ),
]

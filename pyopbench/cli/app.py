"""The command line. Only what Typer needs is imported here, so that --help and --version answer at once."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import wraps
from typing import Any

import typer

from pyopbench.cli import finding, judging, measuring, options
from pyopbench.cli.errors import run_command

EPILOG = (
    "**Exit codes**: 0 done; 1 a regression or a wrong variant; 2 bad usage or input; 3 nothing was measured.\n\n"
    "**Output**: results go to stdout, progress and notes to stderr. "
    "Where a command has them, `--json` prints JSON and `--quiet` hides progress and notes. Text is plain in a pipe "
    "or if NO_COLOR is set.\n\n"
    "**Completion**: `pyopbench --install-completion` sets it up for your shell."
)
MEASURE, JUDGE, LOOK, TOOLS = "Measure", "Judge results", "Find and understand callbacks", "Tools"
WORDS_OF_A_PROGRAM = {"allow_interspersed_args": False, "ignore_unknown_options": False}
"""What comes after the name of a program is the program's, options too."""
WORDS_OF_RUN = {"allow_extra_args": True, "ignore_unknown_options": True}
ALLOCATIONS_BETWEEN_COLLECTIONS = 200_000
"""Many times Python's own number: what commands import and read they keep until the end, so that looking through it for
garbage again and again finds nothing."""


app = typer.Typer(
    name="pyopbench",
    help="Should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
fleet = typer.Typer(help="Measure on many machines, over Dask.", no_args_is_help=True)


@app.callback()
def pyopbench(debug: options.Debug = False, version: options.Version = False) -> None:
    """Take the options that come before a command: `errors` looks for --debug, and --version ends at once."""


def _exiting(command: Callable[..., int | None]) -> Callable[..., None]:
    """Have a command end with the exit code that it returns."""

    @wraps(command)
    def call(**values: Any) -> None:
        raise typer.Exit(command(**values) or 0)

    return call


COMMANDS = {
    MEASURE: (measuring.run, measuring.resume, measuring.verify, measuring.pipeline, measuring.port),
    JUDGE: (judging.report, judging.compare, judging.history),
    LOOK: (finding.scan, finding.record, finding.advise, finding.placement),
    TOOLS: (finding.certify, finding.doctor),
}
for panel, commands in COMMANDS.items():
    for command in commands:
        settings = WORDS_OF_A_PROGRAM if command in (finding.record, finding.advise) else None
        app.command(rich_help_panel=panel, context_settings=settings)(_exiting(command))
app.add_typer(fleet, name="fleet", rich_help_panel=MEASURE)
fleet.command("run", context_settings=WORDS_OF_RUN)(_exiting(measuring.run_fleet))
fleet.command("merge")(_exiting(measuring.merge))


def main() -> None:
    """Run the command line; every error ends it with a message and an exit code."""
    gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS)
    run_command(app)

"""The options that commands have, as Typer takes them: flag, type, help and panel of each, in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

import pyopbench
from pyopbench.model import formatting
from pyopbench.model.arrangement import AUTOTUNE
from pyopbench.model.case import MINIMUM_EFFECT, REQUIREMENTS
from pyopbench.model.errors import BadInput
from pyopbench.model.parse import parse_duration, parse_share, split_some

Value = TypeVar("Value")

OWN, WHAT, LENGTH, JUDGING = "Your own op", "What to measure", "How long to measure", "How to judge it"
"""Panels of options in --help, behind the one that has --help itself."""


def read(flag: str, reader: Callable[[Any], Value], value: Any) -> Value:
    """Return what a reader makes of the value of an option.

    Raises:
        BadInput: it cannot be read; the value received begins with the option.
    """
    try:
        return reader(value)
    except BadInput as error:
        error.received = f"{flag} {error.received}"
        raise


def parser(flag: str, reader: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return what Typer calls with the text of an option, or with its default."""
    return lambda value: read(flag, reader, value) if isinstance(value, str) else value


def read_new_path(text: str) -> Path:
    """Return the path of something to write; an empty one is refused, which Python takes for the current folder.

    Raises:
        BadInput: it is empty.
    """
    if not text:
        raise BadInput("the path is empty", received="''", hint="name a file or folder; . is the current folder")
    return Path(text)


def read_numbers(flag: str, text: str) -> tuple[int, ...]:
    """Return the whole numbers of a list; AUTOTUNE is one of them.

    Raises:
        BadInput: something else.
    """
    words = split_some(flag, [text]) if text else ()
    if not all(word.isdecimal() or word.upper() == "AUTOTUNE" for word in words):
        raise BadInput(
            "not a list of numbers",
            received=f"{flag} {text!r}",
            legal="whole numbers from 1, separated by commas; AUTOTUNE for --parallel",
            hint="for example --parallel 1,4,AUTOTUNE --batch 1,32",
        )
    return tuple(dict.fromkeys(int(word) if word.isdecimal() else AUTOTUNE for word in words))


def read_names(flag: str, texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of an option that takes several, separated by commas or repeated."""
    return read(flag, lambda given: split_some("names", given), texts) if texts else ()


def out_option(metavar: str, text: str, flag: str = "--out") -> Any:
    """Return an option that names what is written."""
    return typer.Option(flag, metavar=metavar, help=text, parser=parser(flag, read_new_path))


def duration_option(flag: str, text: str, panel: str | None = None) -> Any:
    """Return an option that is a duration, such as 40s or 5m."""
    return typer.Option(
        flag, metavar="TIME", help=text, rich_help_panel=panel, parser=parser(flag, parse_duration), show_default=False
    )


def path_option(flag: str, metavar: str, text: str, panel: str | None = None) -> Any:
    """Return an option that names a file to read."""
    return typer.Option(flag, metavar=metavar, help=text, rich_help_panel=panel)


def what_option(flag: str, metavar: str, text: str) -> Any:
    """Return an option of what to measure."""
    return typer.Option(flag, metavar=metavar, help=text, rich_help_panel=WHAT)


Ops = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OP", help="Built-in names, my_op.py, my_module.py:function or package.module:function. Default: all."
    ),
]
OneOp = Annotated[
    str,
    typer.Argument(metavar="OP", help="A built-in name, my_op.py, my_module.py:function or package.module:function."),
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
    what_option("--variant", "NAME", "Only these variants (comma-separated or repeated)."),
]
Axis = Annotated[
    list[str] | None,
    what_option(
        "--axis",
        "NAME=A,B",
        "size, dtype, device, mode, direction, gradient, threads: size=1e3,1e6, mode=call, device=cpu,gpu.",
    ),
]
OneTf = Annotated[
    str | None, what_option("--tf", "VERSION", "TensorFlow version to use, installed into its own environment.")
]
Program = Annotated[
    str,
    what_option(
        "--program",
        "FILE:FUNCTION",
        "Measure in your program's dataset. FUNCTION returns it, and exactly one map in it calls the op.",
    ),
]
Budget = Annotated[
    float | None,
    duration_option("--budget", "Stop measuring after this time, e.g. 5m; at least two launches are run.", LENGTH),
]
Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Your callback today. Default: as in the op file, else numpy_function; built-in: py_function_numpy.",
        rich_help_panel=JUDGING,
    ),
]
Mix = Annotated[
    Path | None,
    path_option(
        "--mix", "CSV", "How often each size is called: a CSV with size and weight (or shape, dtype, weight).", JUDGING
    ),
]
MinimumEffect = Annotated[
    float | None,
    typer.Option(
        "--min-effect",
        metavar="SHARE",
        help=f"Smallest difference that matters. Default: {formatting.percent(MINIMUM_EFFECT)}, or what the run says.",
        rich_help_panel=JUDGING,
        parser=parser("--min-effect", parse_share),
    ),
]
Launches = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=2,
        help="Maximum launches (worker processes). Default: 24; --quick or pipeline: 8; sides with a budget: no limit.",
        rich_help_panel=LENGTH,
    ),
]
Requires = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="NAME",
        help=f"Features that a recommended variant needs: {', '.join(REQUIREMENTS)}.",
        rich_help_panel=JUDGING,
    ),
]
FailOn = Annotated[
    str | None,
    typer.Option(
        metavar="WHEN",
        help="With several sides: which slowdown gives exit code 1: slower, slower:5% (by 5% or more) or never.",
        rich_help_panel=JUDGING,
    ),
]
Results = Annotated[
    list[Path],
    typer.Argument(metavar="RESULTS", help="Folders of runs to pool, or one file of asv or pytest-benchmark."),
]
Command = Annotated[
    list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The program to run, e.g. -- python train.py.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def _hide_progress(context: typer.Context, is_quiet: bool) -> None:
    if is_quiet:
        from pyopbench.api.console import err

        err.quiet = True
        context.call_on_close(lambda: setattr(err, "quiet", False))


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only.", callback=_hide_progress)]


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(pyopbench.__version__)
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", help="Print the version of pyopbench.", is_eager=True, callback=_print_version),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of errors: pyopbench --debug COMMAND ...")]

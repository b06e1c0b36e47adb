"""The command line: its commands, each with its options, and the module that has what it does.

Only what Typer needs is imported here. The module of a command is imported when it is called, so that --help
and --version answer at once.
"""

from __future__ import annotations

import gc
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import pyopbench
from pyopbench.cli.errors import run_command
from pyopbench.model import command_line as options
from pyopbench.model.command_line import Option

EPILOG = (
    "**Exit codes**: 0 done; 1 a regression or a wrong variant; 2 bad usage or input; 3 nothing was measured.\n\n"
    "**Output**: results go to stdout, progress and notes to stderr. "
    "Where a command has them, `--json` prints JSON and `--quiet` hides progress and notes. Text is plain where it is "
    "piped or NO_COLOR is set.\n\n"
    "**Completion**: `pyopbench --install-completion` sets it up for your shell."
)
MEASURE, JUDGE, LOOK, TRUST = "Measure", "Judge results", "Find and understand callbacks", "Tools"
WORDS_OF_A_PROGRAM = {"allow_interspersed_args": False, "ignore_unknown_options": False}
"""What comes after the name of a program is the program's, options too."""
WORDS_OF_RUN = {"allow_extra_args": True, "ignore_unknown_options": True}
ALLOCATIONS_BETWEEN_COLLECTIONS = 200_000
"""Many times Python's own number, for commands that keep what they import and read until the end, so that looking
through it for garbage again and again finds nothing."""


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes:
        name: on the command line; of one in a group after that of the group.
        handler: the module and function that it calls, with the values of the options.
        panel: of --help.
        help: a line of --help.
        options: in the order of --help.
        epilog: what stands below the options in --help: what is worth a sentence more.
        settings: of Click, on how words are read.
        needs_context: is the handler called with the context of Click, for words that are another command's?
        keeps_what_it_reads: does it keep all that it reads until the end, so that there is little garbage to collect?
    """

    name: str
    handler: str
    panel: str
    help: str
    options: tuple[Option, ...] = ()
    epilog: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    needs_context: bool = False
    keeps_what_it_reads: bool = False


class Group(TyperGroup):
    """A group of commands in which `run` is meant where no command is named: `fleet --scheduler ADDRESS`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the command, if the words begin with an option."""
        is_meant = "run" in self.commands and args and args[0].startswith("-") and args[0] not in ctx.help_option_names
        return super().parse_args(ctx, ["run", *args] if is_meant else args)


GROUPS = {"fleet": (MEASURE, "Measure on many machines, over Dask.")}
COMMANDS = (
    Command(
        "run",
        "run:run",
        MEASURE,
        "Measure ops in all variants, store the samples and write the decision report.",
        options.RUN,
        "Measuring stops when more launches would change no answer, or at --budget. If you interrupt a run, pyopbench "
        "prints the command that resumes it.",
    ),
    Command(
        "resume",
        "resume:resume",
        MEASURE,
        "Continue an interrupted run as it was planned, and write the decision report.",
        options.RESUME,
        "What to measure is stored with the run. Give the options for judging it (--mix, --min-effect, --require and "
        "so on) again, and name your own op files as before.",
    ),
    Command(
        "verify",
        "verify:verify",
        MEASURE,
        "Check values against NumPy, and gradients against a reference and finite differences.",
        options.VERIFY,
    ),
    Command(
        "pipeline",
        "pipeline:pipeline",
        MEASURE,
        "Measure an op inside tf.data, and find the best of threads, batches, processes and ports.",
        options.PIPELINE,
    ),
    Command(
        "port",
        "sources:port",
        MEASURE,
        "Write a port of your op as source code, with a test against the old function.",
        options.PORT,
        "The test runs before anything is written, in a process that cannot import pyopbench.",
    ),
    Command(
        "fleet run",
        "fleet:run_fleet",
        MEASURE,
        "Measure the shards of a plan on the workers of a Dask scheduler, and merge them.",
        options.FLEET_RUN,
        "Ops and all other options are those of `pyopbench run`. Op files and arrays that they name are sent along. "
        "Dask's own configuration says how connections are secured.",
        settings=WORDS_OF_RUN,
        needs_context=True,
    ),
    Command(
        "fleet merge",
        "fleet:merge",
        MEASURE,
        "Merge the shards of a plan into one run, with the environment of each machine.",
        options.FLEET_MERGE,
    ),
    Command(
        "report",
        "report:report",
        JUDGE,
        "Write the decision report of stored results; of a run with --rev, the report of what changed.",
        options.REPORT,
        keeps_what_it_reads=True,
    ),
    Command(
        "compare",
        "compare:compare",
        JUDGE,
        "Compare two results: folders of runs, results of asv, files of pytest-benchmark.",
        options.COMPARE,
        "With --axis commit, tf, side or variant, name one result and two labels of that axis: "
        "`pyopbench compare RESULTS A B --axis tf`.",
        keeps_what_it_reads=True,
    ),
    Command(
        "history",
        "history:history",
        JUDGE,
        "Plot results over commits, TensorFlow versions or dates, and find where they changed.",
        options.HISTORY,
        "A suspected change is confirmed by measuring both sides again, interleaved: the command is printed.",
        keeps_what_it_reads=True,
    ),
    Command(
        "scan",
        "find:scan",
        LOOK,
        "Find Python callbacks (py_function, numpy_function, py_func) in sources and notebooks.",
        options.SCAN,
        "Sources are parsed, never run. Hidden folders, virtual environments and results of advise are skipped "
        "unless you name them.",
    ),
    Command(
        "record",
        "find:record",
        LOOK,
        "Run your program, count its Python callbacks, and show which cost most of the run.",
        options.RECORD,
        "The program keeps its output and its exit code; pyopbench writes to stderr. If the program fails or is "
        "interrupted, what was counted so far is kept.",
        settings=WORDS_OF_A_PROGRAM,
    ),
    Command(
        "advise",
        "advise:advise",
        LOOK,
        "Make a program faster: record it, decide on each callback, try the ports, and write a patch.",
        options.ADVISE,
        "The program runs in copies of its folder (the git repository, or the current folder), several times; your "
        "files are not touched.",
        settings=WORDS_OF_A_PROGRAM,
    ),
    Command(
        "placement",
        "placement:placement",
        LOOK,
        "Count copies between host and device per call, by variant and place of the data.",
        options.PLACEMENT,
        "The simulated device needs a C++ compiler and no GPU, and its counts are the same every time.",
    ),
    Command(
        "certify",
        "certify:certify",
        TRUST,
        "Measure how reliable pyopbench's verdicts are on this machine.",
        options.CERTIFY,
        "Variants are compared with copies of themselves, and callbacks with copies slowed down by 5% and 10%.",
    ),
    Command(
        "doctor",
        "doctor:doctor",
        TRUST,
        "Show what this machine has and lacks for each command, and what to do about it.",
        options.DOCTOR,
        "Starts TensorFlow and compiles a small C++ kernel, which is kept in the cache; the first time, this takes "
        "half a minute. Exit code 0, even if something is missing.",
    ),
)


def main() -> None:
    """Run the command line; every error ends it with a message and an exit code."""
    completes = any(name.endswith("_COMPLETE") for name in os.environ)  # a shell that completes asks by a variable
    run_command(make_app(None if completes else sys.argv[1:]))


def make_app(words: Sequence[str] | None = None) -> typer.Typer:
    """Return the command line as Typer has it.

    Args:
        words: of the process; a command that they do not name gets no options, because nobody will see them, and to
            make those of all takes as long as all the rest. None for all options.
    """
    whole = typer.Typer(
        name="pyopbench",
        help="Should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )
    whole.callback()(_taking((options.DEBUG, options.VERSION), lambda **_: None))
    groups: dict[str, typer.Typer] = {}
    for command in COMMANDS:
        group, _, name = command.name.rpartition(" ")
        if group and group not in groups:
            panel, text = GROUPS[group]
            groups[group] = typer.Typer(help=text, no_args_is_help=True, cls=Group)
            groups[group].callback()(_taking((), lambda **_: None))
            whole.add_typer(groups[group], name=group, rich_help_panel=panel)
        is_meant = words is None or name in words or group in words
        (groups[group] if group else whole).command(
            name,
            help=command.help,
            epilog=command.epilog or None,
            rich_help_panel=None if group else command.panel,
            context_settings=command.settings,
        )(_taking(command.options if is_meant else (), _caller(command)))
    return whole


def _caller(command: Command) -> Callable[..., None]:
    """Return what Typer calls for a command: it reads the options, imports the handler and calls it."""

    def call(context: typer.Context, **given: Any) -> None:
        try:
            code = _run(command, context, given)
        except typer.Exit:
            raise
        except Exception as error:
            if context.find_root().params["debug"]:
                _print_traceback(error)
            raise
        raise typer.Exit(code)

    return call


def _run(command: Command, context: typer.Context, given: Mapping[str, Any]) -> int:
    values = {one.name: one.value_of(given[one.name]) for one in command.options}
    own = {one.name: values[one.name] for one in command.options if one not in options.OF_THE_COMMAND_LINE}
    module, _, function = command.handler.partition(":")
    with ExitStack() as stack:
        if command.keeps_what_it_reads:
            stack.enter_context(_few_collections())
        handler = getattr(import_module(f"pyopbench.cli.{module}"), function)
        if values.get("quiet"):
            stack.enter_context(_quiet())
        return int(handler(**own, **({"context": context} if command.needs_context else {})) or 0)


def _print_traceback(error: Exception) -> None:
    from pyopbench.api.console import err

    err.print("".join(traceback.format_exception(error)), markup=False, soft_wrap=True)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Let Python's garbage collector run less often."""
    before = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS_BETWEEN_COLLECTIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _quiet() -> Iterator[None]:
    from pyopbench.api.console import err  # Rich, which is not needed for `version`

    err.quiet = True
    try:
        yield
    finally:
        err.quiet = False


def _taking(parameters: Sequence[Option], call: Callable[..., None]) -> Callable[..., None]:
    """Give a function the parameters that Typer reads off it."""
    made = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    made += [_parameter(one) for one in parameters]
    call.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in made}
    return call


def _parameter(option: Option) -> inspect.Parameter:
    shown: dict[str, Any] = {"metavar": option.metavar, "help": option.help, "rich_help_panel": option.panel}
    if option.least is not None:
        shown["min"] = option.least
    if option is options.VERSION:
        shown |= {"is_eager": True, "callback": _print_version}
    if option.completes:
        shown["autocompletion"] = _names_of(option.completes)
    info = typer.Argument(**shown) if option.is_argument else typer.Option(*option.all_flags, **shown)
    kind: Any = list.__class_getitem__(option.type) if option.is_repeated else option.type
    default = inspect.Parameter.empty if option.is_required else option.default
    annotation = Annotated.__class_getitem__((kind | None if default is None else kind, info))  # type: ignore[attr-defined]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(pyopbench.__version__)
        raise typer.Exit


def _names_of(kind: str) -> Callable[[str], list[str]]:
    """Return what completes the names of ops or variants in a shell; nothing is imported for it."""

    def complete(incomplete: str) -> list[str]:
        from pyopbench.model.discover import find

        return [name for name in find(kind) if name.startswith(incomplete)]

    return complete

"""Errors end a command: what was wrong, the value, what is legal, what to do; tracebacks by --debug."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn

import typer

from pyopbench.model.errors import EXIT_INTERRUPTED, BadInput, PyopbenchError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises of a command line that it cannot read; it has no public name of its own in every version."""

NOTHING_GIVEN = "NoArgsIsHelpError"
"""The name of the usage error that stands for the help of a command that was given nothing."""


def run_command(app: typer.Typer) -> NoReturn:
    """Run a command line and end the process; every error ends it with a message and an exit code."""
    command: Any = typer.main.get_command(app)
    for one in (command, *getattr(command, "commands", {}).values()):
        for option in one.params:
            if getattr(option, "is_flag", False):
                option.metavar = ""  # the type of a flag would take room in --help from what it does
    try:
        code = int(command(prog_name="pyopbench", standalone_mode=False) or 0)
    except Exception as error:  # noqa: BLE001 - a bug must not look like a slowdown, whose exit code is Python's own
        code = _end_of(error)
    sys.exit(code)


def _end_of(error: Any) -> int:
    """Print what is wrong, and return the exit code."""
    if type(error).__name__ == NOTHING_GIVEN:
        error.show()
        return 2
    if isinstance(error, typer.Abort):  # Ctrl-C or Ctrl-D at a question
        return EXIT_INTERRUPTED
    from pyopbench.api.console import err, say_error

    if "--debug" in sys.argv[1:2]:
        err.print("".join(traceback.format_exception(error)), markup=False, soft_wrap=True)
    described = _described(error)
    say_error(described)
    return described.exit_code


def _described(error: Any) -> PyopbenchError:
    if isinstance(error, PyopbenchError):
        return error
    if isinstance(error, UsageError):
        path = error.ctx.command_path if error.ctx is not None else "pyopbench"  # type: ignore[attr-defined]
        words = " ".join(sys.argv[1:])
        return BadInput(error.format_message(), received=words, hint=f"{path} --help shows what is legal")  # type: ignore[attr-defined]
    if isinstance(error, OSError):
        hint = "fix it, or choose another path"
        return BadInput("a file or folder cannot be read or written", received=error, hint=hint)
    if isinstance(error, ModuleNotFoundError):
        from pyopbench.engine.doctor import FOR_REPORTS

        if error.name in FOR_REPORTS:
            return BadInput(
                "a package that this command needs is not installed",
                received=f"no {error.name} for {sys.executable}",
                hint="pip install 'pyopbench[report]'; `pyopbench doctor` shows what else is missing",
            )
    return PyopbenchError(
        "an internal error of pyopbench, or input that it does not handle",
        received=f"{type(error).__name__}: {error}",
        hint="run it again as pyopbench --debug COMMAND ..., and report what it shows",
    )

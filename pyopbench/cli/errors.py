"""How a command ends that cannot go on: what was wrong, the value, what is legal, what to do; tracebacks by --debug."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import typer

from pyopbench.model.errors import BadInput, InternalError, PyopbenchError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What Typer raises of a command line that it cannot read; it has no public name of its own in every version."""

NOTHING_GIVEN = "NoArgsIsHelpError"
"""The name of the usage error that stands for the help of a command that was given nothing."""


def run_command(app: typer.Typer) -> NoReturn:
    """Run a command line and end the process; every error ends it with a message and an exit code."""
    sys.exit(end_of(command_of(app)))


def command_of(app: typer.Typer) -> Any:
    """Return the command line of an app."""
    command: Any = typer.main.get_command(app)
    _without_types_of_flags(command)
    return command


def end_of(command: Any) -> int:
    """Run a command line with the arguments of the process, and return its exit code."""
    return _code_of(lambda: command(prog_name="pyopbench", standalone_mode=False))


def _without_types_of_flags(command: Any) -> None:
    """Give no flag a type in --help, which would take room from what the flag does."""
    for option in command.params:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for below in getattr(command, "commands", {}).values():
        _without_types_of_flags(below)


def _code_of(call: Callable[[], Any]) -> int:
    try:
        return int(call() or 0)
    except UsageError as error:
        if type(error).__name__ == NOTHING_GIVEN:
            error.show()  # type: ignore[attr-defined]
            return 2
        return _show(as_bad_input(error))
    except PyopbenchError as error:
        return _show(error)
    except OSError as error:
        return _show(_unusable(error))
    except ModuleNotFoundError as error:
        return _show(_not_installed(error) or _unexpected(error))
    except Exception as error:  # noqa: BLE001 - a bug must not look like a slowdown, whose exit code is Python's own
        return _show(_unexpected(error))


def _show(error: PyopbenchError) -> int:
    from pyopbench.api.console import say_error

    say_error(error)
    return error.exit_code


def _unusable(error: OSError) -> BadInput:
    return BadInput(
        "a file or folder cannot be read or written",
        received=error,
        hint="fix it, or choose another path",
    )


def _not_installed(error: ModuleNotFoundError) -> BadInput | None:
    """Return the error for a missing module of an extra; None if the module belongs to no extra."""
    from pyopbench.engine.doctor import FOR_REPORTS

    if error.name not in FOR_REPORTS:
        return None
    return BadInput(
        "a package that this command needs is not installed",
        received=f"no {FOR_REPORTS[error.name]} for {sys.executable}",
        hint="pip install 'pyopbench[report]'; `pyopbench doctor` shows what else is missing",
    )


def _unexpected(error: Exception) -> InternalError:
    return InternalError(
        "an internal error of pyopbench, or input that it does not handle",
        received=f"{type(error).__name__}: {error}",
        hint="run it again as pyopbench --debug COMMAND ..., and report what it shows",
    )


def as_bad_input(error: Any) -> BadInput:
    """Return what is wrong with a command line, with what would be right, from what Typer says of it."""
    context = error.ctx
    path = "pyopbench" if context is None else context.command_path
    received, legal, close = _received_and_legal(error, None if context is None else context.command, path)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return BadInput(_without_hints(error), received=received, legal=legal, hint=f"{hint}{path} --help shows more")


def _received_and_legal(error: Any, command: Any, path: str) -> tuple[str, str, list[str]]:
    """Return what was given, what may be, and what may have been meant."""
    if (option := getattr(error, "option_name", None)) is not None:
        if command is None:  # the option is known, and what it needs is missing
            return option, "a value after it", []
        known = sorted(name for one in command.params for name in one.opts if name.startswith("-"))
        return option, ", ".join(known), difflib.get_close_matches(option, known, n=2)
    if (parameter := getattr(error, "param", None)) is not None:
        return _value_of(parameter), error.message or parameter.help or f"what `{path} --help` shows", []
    given = sys.argv[1:]
    if hasattr(command, "commands"):
        first = next((one for one in given if not one.startswith("-")), "")
        return " ".join(given), ", ".join(sorted(command.commands)), difflib.get_close_matches(first, command.commands)
    return " ".join(given), f"what `{path} --help` shows", []


def _value_of(parameter: Any) -> str:
    """Return what the command line gives for an option, the last time; the whole of it for an argument."""
    given = sys.argv[1:]
    for place in reversed(range(len(given))):
        name, equals, value = given[place].partition("=")
        if name in parameter.opts and name.startswith("-"):
            return f"{name} {value}" if equals else " ".join(given[place : place + 2])
    return " ".join(given)


def _without_hints(error: Any) -> str:
    """Return what Typer says is wrong, without the parts that have a line of their own."""
    what: str = error.format_message()
    for rest in (f": {error.message}" if error.message else "", " Did you mean ", " (Possible options: "):
        what = what.partition(rest)[0] if rest else what
    return what.rstrip(".")

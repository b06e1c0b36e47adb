"""The command line as a table: quick to start, each command with a handler that takes its options."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from typing import Any

import pytest

from places import ROOT
from pyopbench.cli import app
from pyopbench.model import command_line as options

STARTING = {
    "pyopbench",
    "pyopbench.__main__",
    "pyopbench.cli",
    "pyopbench.cli.app",
    "pyopbench.cli.errors",
    "pyopbench.model",
    "pyopbench.model.arrangement",
    "pyopbench.model.case",
    "pyopbench.model.errors",
    "pyopbench.model.formatting",
    "pyopbench.model.command_line",
    "pyopbench.model.parse",
}
"""What `pyopbench --help` and `--version` import of pyopbench."""
HEAVY = {"altair", "dask", "jinja2", "msgspec", "numpy", "pandas", "platformdirs", "scipy", "tensorflow"}
PROGRAM = """
import runpy, sys
{first}
sys.argv = ["pyopbench", *{words}]
try:
    runpy.run_module("pyopbench", run_name="__main__", alter_sys=True)
except SystemExit as ended:
    assert not ended.code, ended.code
print("\\nimported", *(name for name in sys.modules if "." not in name or name.startswith("pyopbench")))
"""


def imported_by(*words: str, first: str = "") -> set[str]:
    """Return the modules that a command has imported: those of pyopbench, and the packages of others."""
    program = PROGRAM.format(words=list(words), first=first)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    return {*done.stdout.splitlines()[-1].split()[1:]}


def is_quick_to_start(imported: set[str]) -> bool:
    own = {name for name in imported if name.split(".")[0] == "pyopbench"}
    return own <= STARTING and not imported & HEAVY


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"]])
def test_what_only_answers_imports_what_typer_needs_and_a_handful_of_modules(words: list[str]) -> None:
    assert is_quick_to_start(imported_by(*words))


@pytest.mark.parametrize("planted", ["msgspec", "pyopbench.store.measured_run"])
def test_an_import_too_many_is_found(planted: str) -> None:
    assert not is_quick_to_start(imported_by("--version", first=f"import {planted}"))


def accepts(handler: Any, names: set[str]) -> bool:
    """Can a function be called with arguments of these names, and with no fewer?"""
    try:
        inspect.signature(handler).bind(**dict.fromkeys(names))
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("command", app.COMMANDS, ids=lambda one: one.name)
def test_the_handler_of_a_command_takes_its_options(command: app.Command) -> None:
    module, _, function = command.handler.partition(":")
    handler = getattr(import_module(f"pyopbench.cli.{module}"), function)
    names = {one.name for one in command.options if one not in options.OF_THE_COMMAND_LINE}
    names |= {"context"} if command.needs_context else set()
    assert accepts(handler, names)
    assert not names or any(not accepts(handler, names - {one}) for one in names)


def test_a_command_has_all_of_its_options_where_it_is_named_and_in_the_whole() -> None:
    """The others need none, because nobody sees them."""
    whole, named = app.make_app(), app.make_app(["run", "--quick"])
    counts = [{one.name: len(inspect.signature(one.callback).parameters) for one in each.registered_commands}
              for each in (whole, named)]  # fmt: skip
    assert counts[0]["run"] == counts[1]["run"] == len(options.RUN) + 1, "and the context"
    assert counts[0]["report"] > counts[1]["report"] == 1


def test_a_run_has_at_most_20_options_and_all_other_commands_fewer() -> None:
    counts = {one.name: sum(not option.is_argument for option in one.options) for one in app.COMMANDS}
    assert counts.pop("run") <= 20
    assert max(counts.values()) < 20

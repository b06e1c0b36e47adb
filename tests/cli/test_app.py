"""The command line is quick to start, and agrees with the functions for Python."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import pyopbench
from places import ROOT
from pyopbench.cli import app, judging, measuring

STARTING = {
    "pyopbench",
    "pyopbench.__main__",
    "pyopbench.cli",
    "pyopbench.cli.app",
    "pyopbench.cli.errors",
    "pyopbench.cli.finding",
    "pyopbench.cli.judging",
    "pyopbench.cli.measuring",
    "pyopbench.cli.options",
    "pyopbench.model",
    "pyopbench.model.arrangement",
    "pyopbench.model.case",
    "pyopbench.model.errors",
    "pyopbench.model.formatting",
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


def test_a_run_has_at_most_20_options_and_all_other_commands_fewer() -> None:
    commands = typer.main.get_command(app.app).commands
    counts = {
        name: sum(one.param_type_name == "option" and one.name != "help" for one in command.params)
        for name, command in commands.items()
    }
    assert counts.pop("run") <= 20
    assert max(counts.values()) < 20


FUNCTIONS = {measuring.run: pyopbench.run, judging.report: pyopbench.read, judging.compare: pyopbench.compare}


@pytest.mark.parametrize("command", FUNCTIONS, ids=lambda one: one.__name__)
def test_a_function_for_python_has_the_defaults_of_the_command(command: Callable[..., Any]) -> None:
    typed, called = (inspect.signature(one).parameters for one in (command, FUNCTIONS[command]))
    shared = typed.keys() & called.keys()
    assert shared
    for name in shared:
        if typed[name].default is not inspect.Parameter.empty:
            assert (called[name].default or None) == (typed[name].default or None), name


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda one: one.__name__)
def test_each_argument_of_a_function_for_python_is_described(function: Callable[..., Any]) -> None:
    text = function.__doc__ or ""
    described = {
        name for line in re.findall(r"^        (\w+(?:, \w+)*): ", text, re.MULTILINE) for name in line.split(", ")
    }
    assert {*inspect.signature(function).parameters} <= described


@pytest.mark.parametrize("command", ["advise", "pipeline"])
def test_a_command_that_fails_on_no_slowdown_does_not_name_that_option(command: str) -> None:
    assert "--fail-on" not in CliRunner().invoke(app.app, [command, "--help"]).stdout

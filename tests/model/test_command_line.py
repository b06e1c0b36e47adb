"""The table of options: what is read of a command line, and that the functions for Python agree with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import pyopbench
from pyopbench.cli.app import COMMANDS
from pyopbench.model import command_line as options
from pyopbench.model.command_line import SETTINGS, Option, describe_arguments, read_settings
from pyopbench.model.errors import BadInput
from pyopbench.model.parse import parse_axes, parse_bytes, parse_duration, parse_share

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Option, ...]]] = {
    "run": (pyopbench.run, options.RUN),
    "resume": (pyopbench.resume, options.RESUME),
    "pipeline": (pyopbench.pipeline, options.PIPELINE),
    "read": (pyopbench.read, options.REPORT),
    "compare": (pyopbench.compare, options.COMPARE),
}
IN_OTHER_FORM = {"device", "parts", "axis", "settings"}
"""Given by a shell several times, and from Python once; and what is a mapping there."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_for_python_has_the_defaults_of_its_options(name: str) -> None:
    function, table = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    shared = [one for one in table if one.name in parameters and one.name not in IN_OTHER_FORM and not one.is_required]
    assert len(shared) >= (2 if name == "compare" else 5)
    for one in shared:
        in_python = parameters[one.name].default
        assert (in_python or None) == (one.value_of(one.default) or None), one.name


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"compare"}))
def test_each_argument_is_described_once(name: str) -> None:
    function, _ = FUNCTIONS[name]
    text = function.__doc__ or ""
    assert options.MARK not in text
    described = {argument: text.count(f"\n        {argument}: ") for argument in inspect.signature(function).parameters}
    assert {*described.values()} == {1}, described


def test_a_description_stands_where_the_mark_is_and_not_twice() -> None:
    @describe_arguments([options.QUICK, options.SEED_WITH, options.REV])
    def measure(quick: bool, seed_with: str) -> None:  # noqa: D417 - that is what is tested
        """Measure.

        Args:
            {options}
            seed_with: as elsewhere.
        """

    text = inspect.cleandoc(measure.__doc__ or "")
    assert options.QUICK.python in text
    assert options.SEED_WITH.python not in " ".join(text.split())
    assert options.REV.python not in text, "it has no such argument"


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([], {}),
        (["seed=7", "rounds=20", "seed=8"], {"seed": 8, "rounds": 20}),
        (["case_timeout=2m", "seed=7"], {"case_timeout": 120.0, "seed": 7}),
        (["linearity=yes"], {"linearity": True}),
        ({"case_timeout": 2.5, "seed": 0, "linearity": False}, {"case_timeout": 2.5, "seed": 0, "linearity": False}),
        ({"case_timeout": "2m"}, {"case_timeout": 120.0}),
    ],
)  # fmt: skip
def test_settings_are_read_of_texts_and_of_values(
    given: Sequence[str] | Mapping[str, Any], values: dict[str, Any]
) -> None:
    assert read_settings([*SETTINGS], given) == values


@pytest.mark.parametrize(
    "given",
    [
        ["seeds=1"],
        ["seed"],
        ["seed="],
        ["=1"],
        ["rounds=0"],
        ["seed=-1"],
        ["seed=1.5"],
        ["linearity=maybe"],
        ["case_timeout=soon"],
        ["seed=much"],
        {"rounds": 0},
        {"seed": None},
    ],
)
def test_any_other_setting_is_refused(given: Sequence[str] | Mapping[str, Any]) -> None:
    with pytest.raises(BadInput) as refused:
        read_settings([*SETTINGS], given)
    assert refused.value.hint
    assert refused.value.received


def test_a_command_names_the_settings_that_it_has() -> None:
    with pytest.raises(BadInput) as refused:
        read_settings(["seed"], ["rounds=2"])
    assert (refused.value.received, refused.value.legal) == ("rounds=2", "seed")


def options_read_by(*readers: Any) -> list[Option]:
    every = {id(one): one for command in COMMANDS for one in command.options}
    return [one for one in every.values() if getattr(one.read, "func", one.read) in readers]


MISTYPED = [
    *((one, "5x") for one in options_read_by(parse_duration, parse_bytes, parse_share, options.read_numbers)),
    *((one, ["size=5x"]) for one in options_read_by(parse_axes)),
    *((one, [f"{key}=5x"]) for one in options_read_by(read_settings) for key in one.read.args[0]),  # type: ignore[union-attr]
]


@pytest.mark.parametrize(("option", "given"), MISTYPED, ids=[f"{one.name} {given}" for one, given in MISTYPED])
def test_a_mistyped_number_is_refused_with_its_option_the_legal_values_and_an_example(
    option: Option, given: str | list[str]
) -> None:
    with pytest.raises(BadInput) as refused:
        option.value_of(given)
    flag, _, value = str(refused.value.received).partition(" ")
    assert flag in option.all_flags
    assert value.strip("'") in (given if isinstance(given, list) else [given])
    assert refused.value.legal
    assert refused.value.hint


def test_the_options_with_units_are_among_those_that_are_tried() -> None:
    tried = {one.all_flags[0] for one, _ in MISTYPED}
    assert {"--budget", "--seconds", "--memory-limit", "--min-effect", "--axis"} <= tried

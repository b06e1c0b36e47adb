"""The table of options: what is read of a command line, and that the functions for Python agree with it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import pyopbench
from pyopbench.judge import requirements
from pyopbench.model import command_line as options
from pyopbench.model.command_line import SETTINGS, Option, describe_arguments, read_settings
from pyopbench.model.errors import BadInput

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
    @describe_arguments([options.QUICK, options.SEED_WITH, options.EVERY])
    def measure(quick: bool, seed_with: str) -> None:  # noqa: D417 - that is what is tested
        """Measure.

        Args:
            {options}
            seed_with: as elsewhere.
        """

    text = inspect.cleandoc(measure.__doc__ or "")
    assert options.QUICK.python in text
    assert options.SEED_WITH.python not in " ".join(text.split())
    assert options.EVERY.python not in text, "it has no such argument"


def test_what_may_be_required_is_what_is_checked() -> None:
    assert options.REQUIREMENTS == requirements.NAMES


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ([], {}),
        (["seed=7", "rounds=20", "seed=8"], {"seed": 8, "rounds": 20}),
        (["case_timeout=2m", "file_limit=1K"], {"case_timeout": 120.0, "file_limit": 1024}),
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
        ["file_limit=much"],
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

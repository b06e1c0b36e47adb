"""The functions for Python agree with the options of the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import pyopbench
from pyopbench.model import command_line as options
from pyopbench.model.command_line import Option

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Option, ...]]] = {
    "run": (pyopbench.run, options.RUN),
    "resume": (pyopbench.resume, options.RESUME),
    "pipeline": (pyopbench.pipeline, options.PIPELINE),
    "read": (pyopbench.read, options.REPORT),
    "compare": (pyopbench.compare, options.COMPARE),
}
IN_OTHER_FORM = {"axis"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_for_python_has_the_defaults_of_its_options(name: str) -> None:
    function, table = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters
    shared = [one for one in table if one.name in parameters and one.name not in IN_OTHER_FORM and not one.is_required]
    assert shared
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

"""A function of a notebook or script becomes a file that other processes can load; what cannot travel is named."""

from __future__ import annotations

import ast
import math
import os.path as paths
from collections import OrderedDict as Ordered
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import sinh

import places
from pyopbench.api.shipped_source import home_of, source_of
from pyopbench.model.errors import BadInput
from refusals import refused

SCALE = 2.5
WEIGHTS = {"a": [1, 2], "b": (None, b"x")}
KERNEL = np.array([[1.0, 0.5]], np.float32)
OFFSET = np.float32(0.1)
NOT_A_NUMBER = math.nan
LOCK = object()


def helper(x: Any, factor: float = SCALE) -> Any:
    return x * factor


def body(x: np.ndarray) -> np.ndarray:
    """Use everything that can travel."""
    total = sum(WEIGHTS["a"]) + len(paths.sep) + len(Ordered())
    return np.array([helper(one) for one in sinh(x)]) * total + KERNEL[0, 0] + OFFSET


def recursive(n: int) -> int:
    return 1 if n < 2 else n * recursive(n - 1)


def locked(x: Any) -> Any:
    return LOCK, x


def undefined(x: Any) -> Any:
    return no_such_name(x)  # noqa: F821


def not_finite(x: Any) -> Any:
    return x + NOT_A_NUMBER


def closed_over(factor: int) -> Callable[[Any], Any]:
    def scaled(x: Any) -> Any:
        return x * factor

    return scaled


def nested() -> Callable[[Any], Any]:
    def plain(x: Any) -> Any:
        return x * SCALE

    return plain


def run_source(source: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "shipped"}
    exec(compile(source, "shipped.py", "exec"), scope)
    return scope


def test_the_name_in_the_source_counts_and_not_the_one_that_it_was_given_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = helper(2.0)
    monkeypatch.setattr(helper, "__name__", '"""\nraise SystemExit')
    monkeypatch.setattr(helper, "__module__", "__main__")
    assert run_source(source_of(helper))["helper"](2.0) == expected
    unnamed = lambda x: x  # noqa: E731 - that is what is named
    unnamed.__name__ = "named"
    with pytest.raises(BadInput):
        source_of(unnamed)


@pytest.fixture
def of_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the functions of this file look as if they were of `__main__`."""
    for function in (body, helper):
        monkeypatch.setattr(function, "__module__", "__main__")


@pytest.mark.usefixtures("of_main")
def test_the_file_computes_what_the_function_computes() -> None:
    source = source_of(body)
    shipped = run_source(source)
    x = np.linspace(-1.0, 1.0, 5)
    np.testing.assert_array_equal(shipped["body"](x), body(x))
    tree = ast.parse(source)
    imports = {ast.unparse(node) for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))}
    assert imports >= {f"import {paths.__name__} as paths", "from collections import OrderedDict as Ordered"}
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == ["helper", "body"]


def test_a_function_that_calls_itself_is_there_once() -> None:
    shipped = run_source(source_of(recursive))
    assert shipped["recursive"](5) == 120


def test_a_function_within_another_travels_where_it_closes_over_nothing() -> None:
    assert run_source(source_of(nested()))["plain"](2) == 5.0


@pytest.mark.parametrize(
    ("function", "what", "received"),
    [
        (
            closed_over(3),
            "scaled is a closure, and the variables that it captures cannot be sent to another process",
            "factor",
        ),
        (lambda x: x, "the source of a lambda cannot be separated from the rest of its line", "a lambda of x"),
        (np.sinh, "not a function whose source can be read", "<ufunc 'sinh'>, of type ufunc"),
        (undefined, "undefined uses a name that is not there", "no_such_name"),
        (
            locked,
            "locked uses a global that cannot be sent to another process: LOCK, of type object",
            f"LOCK = {LOCK!r}",
        ),
        (
            not_finite,
            "not_finite uses a global that cannot be sent to another process: NOT_A_NUMBER, of type float",
            "NOT_A_NUMBER = nan",
        ),
    ],
    ids=["closure", "lambda", "ufunc", "undefined", "locked", "not finite"],
)
def test_what_cannot_travel_is_named_and_so_is_the_way_out(function: Any, what: str, received: str) -> None:
    with pytest.raises(BadInput) as error:
        source_of(function)
    assert (error.value.message, error.value.received) == (what, received)
    assert error.value.hint
    assert error.value.hint


def test_a_function_without_a_source_is_refused() -> None:
    scope: dict[str, Any] = {}
    exec("def typed(x):\n    return x\n", scope)
    with refused("cannot find the source of typed"):
        source_of(scope["typed"])


def test_a_text_that_keeps_a_function_from_being_dedented_is_no_syntax_error() -> None:
    def shifted(x: Any) -> Any:
        return (
            x,
            """
left""",
        )

    with refused("cannot find the source of shifted"):
        source_of(shifted)


def test_functions_of_modules_have_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    assert home_of(places.line_of) == "places"
    assert home_of(np.sinh) == "numpy"
    assert home_of(nested()) == ""
    monkeypatch.setattr(helper, "__module__", "__main__")
    assert home_of(helper) == ""

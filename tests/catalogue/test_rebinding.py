"""Copies of functions in which their helpers, and what decorators have wrapped, are something else."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.catalogue.rebinding import rebind, rebind_helpers, why_not_rebound


def doubled(function: Any) -> Any:
    @functools.wraps(function)
    def inner(x: Any) -> Any:
        return 2 * function(x)

    return inner


@doubled
def wrapped(x: Any) -> Any:
    return np.tanh(x)


def even(n: int) -> bool:
    return n == 0 or odd(n - 1)


def odd(n: int) -> bool:
    return n > 0 and even(n - 1)


def test_what_a_decorator_wraps_is_rebound() -> None:
    found = tf.function(rebind(wrapped))(tf.constant([0.5]))
    np.testing.assert_allclose(found, 2 * np.tanh([0.5]), rtol=1e-6)


def test_helpers_are_finished_too_each_once() -> None:
    finished: list[str] = []

    def finish(copy: Any) -> Any:
        finished.append(copy.__name__)
        return copy

    assert rebind_helpers(even, finish)(6)
    assert finished == ["even", "odd"]


@pytest.mark.parametrize(("body", "has_one"), [(np.tanh, True), (even, False), (len, True)])
def test_what_is_no_python_function_has_a_reason(body: Any, has_one: bool) -> None:
    assert (why_not_rebound(body) is not None) is has_one

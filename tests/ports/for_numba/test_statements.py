"""Statements that Numba does not take, and NumPy by other names, give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy as xp  # noqa: ICN001

from agreement import compiled, require_equal_to_numpy


def quiet(x: Any, y: Any) -> Any:
    with np.errstate(divide="ignore"), np.errstate(invalid="ignore"):
        found = x / y
        found[np.isnan(found)] = 0
    first, second = y[0], x[1]
    a, b = x
    (c, d), e = (a, b), second
    return found, np.array([first, e, a, b, c, d])


def with_another_name(x: Any) -> Any:
    return xp.mean(x, axis=0), xp.concatenate([x, x])


def shadowed(x: Any) -> Any:
    np = max
    return np(x[0], x[1]), x


def test_statements_are_taken_out_of_errstate_and_arrays_unpacked() -> None:
    require_equal_to_numpy(quiet, np.array([1.0, 0.0]), np.array([2.0, 0.0]))


def test_numpy_is_known_by_every_name() -> None:
    require_equal_to_numpy(with_another_name, np.arange(6.0).reshape(2, 3))


def test_a_local_name_is_not_numpy() -> None:
    require_equal_to_numpy(shadowed, np.array([1.0, 2.0]))


def test_a_function_inside_reads_what_is_around_it() -> None:
    scale = 2.0

    def inner(x: Any) -> Any:
        return np.mean(x, axis=1, keepdims=True) * scale

    np.testing.assert_array_equal(compiled(inner)(np.ones((2, 2))), [[2.0], [2.0]])

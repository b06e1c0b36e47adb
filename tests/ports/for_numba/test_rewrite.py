"""What is rewritten, what stays, and that lines stay the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy as xp  # noqa: ICN001
import pytest

from agreement import compiled, require_equal_to_numpy
from pyopbench.ports.for_numba.rewrite import rewritten


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
    return np(x[0], x[1])


def refused(x: Any) -> Any:
    y = np.max(x, axis=0)

    return np.trapezoid(
        y[None],
        axis=0,
    )


def simple(x: Any) -> Any:
    return np.exp(x) + x.sum(axis=0)


def test_statements_are_taken_out_of_errstate_and_arrays_unpacked() -> None:
    require_equal_to_numpy(quiet, np.array([1.0, 0.0]), np.array([2.0, 0.0]))


def test_numpy_is_known_by_every_name() -> None:
    require_equal_to_numpy(with_another_name, np.arange(6.0).reshape(2, 3))


def test_what_numba_takes_is_left_alone() -> None:
    assert rewritten(simple) is simple
    assert rewritten(shadowed) is shadowed


def test_a_lambda_is_written_otherwise_where_no_other_begins_on_its_line() -> None:
    pytest.importorskip("numba")
    from pyopbench.ports.rebinding import copy_functions

    alone = lambda x: np.max(x, axis=0)  # noqa: E731
    one, other = lambda x: np.max(x, axis=0), lambda x: np.max(x, axis=1)
    assert rewritten(copy_functions(alone, lambda copy: copy)).__code__ is not alone.__code__
    assert (rewritten(one), rewritten(other)) == (one, other)


def test_lines_stay_those_of_the_user() -> None:
    pytest.importorskip("numba")
    from pyopbench.ports.rebinding import copy_functions

    new = rewritten(copy_functions(refused, lambda copy: copy))
    lines = {line for _, _, line in new.__code__.co_lines() if line}
    assert new.__code__ is not refused.__code__
    assert lines == {line for _, _, line in refused.__code__.co_lines() if line}


def test_a_function_inside_reads_what_is_around_it() -> None:
    scale = 2.0

    def inner(x: Any) -> Any:
        return np.mean(x, axis=1, keepdims=True) * scale

    np.testing.assert_array_equal(compiled(inner)(np.ones((2, 2))), [[2.0], [2.0]])

"""Helpers for Numba give what NumPy's functions give, wherever they stand in for one alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from pyopbench.ports.for_numba import helpers  # noqa: E402
from pyopbench.ports.for_numba.instead import TYPED, helper_source, needed_helpers  # noqa: E402

NAMES = [name for name in vars(helpers) if name.startswith("_") and name.islower() and not name.startswith("__")]


@numba.njit  # type: ignore[untyped-decorator]
def moved(array: Any, axis: Any, to: Any) -> Any:
    return helpers._moved(array, axis, to)


@pytest.mark.parametrize("shape", [(24,), (2, 12), (2, 3, 4), (2, 3, 2, 2), (0, 3, 4)])
def test_an_axis_is_moved_as_by_numpy(shape: tuple[int, ...]) -> None:
    array = np.arange(float(np.prod(shape))).reshape(shape)
    array.flags.writeable = False  # as arrays of tensors are
    for axis, to in itertools.product(range(-array.ndim, array.ndim), repeat=2):
        found, expected = moved(array, axis, to), np.moveaxis(array, axis, to)
        assert found.shape == expected.shape, (axis, to)
        np.testing.assert_array_equal(found, expected, err_msg=f"{axis} to {to}")
        assert not array.size or np.shares_memory(found, array), "it is a view"


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (2, 3, 2, 2)])
def test_an_axis_that_is_not_there_is_refused_as_by_numpy(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape)
    for move, axis in itertools.product((moved, np.moveaxis), (-array.ndim - 1, array.ndim)):
        with pytest.raises(ValueError, match="axis"):
            move(array, axis, 0)
        with pytest.raises(ValueError, match="axis"):
            move(array, 0, axis)


def test_what_is_moved_can_be_written_into() -> None:
    array = np.zeros((2, 3))
    moved(array, 0, 1)[2, 1] = 7
    assert array[1, 2] == array.sum() == 7


@pytest.mark.parametrize("arguments", [([1.0], 0, 0), (np.zeros(3), 0.0, 0), (np.zeros(3), 0, (0,)), (1.0, 0, 0)])
def test_what_is_no_array_or_no_axis_is_refused_with_the_line(arguments: tuple[Any, Any, Any]) -> None:
    with pytest.raises(numba.TypingError) as caught:
        moved(*arguments)
    assert caught.value.loc is not None
    assert caught.value.loc.filename == __file__


def test_what_a_helper_calls_comes_before_or_with_it() -> None:
    assert needed_helpers(["_along"]) == ["_checked", "_moved", "_along", "_of_vectors"]


def test_sources_make_a_module_of_their_own() -> None:
    """Without types, which a port does not import names for."""
    names = needed_helpers(name for name in NAMES if not name.endswith(TYPED))
    scope = {"np": np, "numba": numba}
    text = "\n".join([*helper_source(names), "greatest = numba.njit(lambda x: _along(np.max, x, 0))"])
    exec(text, scope)
    assert set(names) <= scope.keys()
    assert "Any" not in text
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(scope["greatest"](x), x.max(axis=0))

"""Helpers of Numba's give what NumPy's functions give, wherever they stand in for one alone."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

numba = pytest.importorskip("numba")

from pyopbench.catalogue.for_numba import helpers  # noqa: E402


@numba.njit  # type: ignore[untyped-decorator]
def moved(array: Any, axis: Any, to: Any) -> Any:
    return helpers._moved(array, axis, to)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_an_axis_is_moved_as_by_numpy(axes: int) -> None:
    array = np.arange(24.0).reshape((24,) if axes == 1 else (2, 12) if axes == 2 else (2, 3, 4))
    for axis, to in itertools.product(range(-axes, axes), repeat=2):
        np.testing.assert_array_equal(moved(array, axis, to), np.moveaxis(array, axis, to), err_msg=f"{axis} to {to}")


@pytest.mark.parametrize("axis", [-3, 2])
def test_an_axis_that_is_not_there_is_refused_as_by_numpy(axis: int) -> None:
    array = np.zeros((2, 3))
    for move in (moved, np.moveaxis):
        with pytest.raises(ValueError, match="axis"):
            move(array, axis, 0)
        with pytest.raises(ValueError, match="axis"):
            move(array, 0, axis)


def test_what_is_moved_is_a_view() -> None:
    array = np.zeros((2, 3))
    moved(array, 0, 1)[2, 1] = 7
    assert array[1, 2] == 7

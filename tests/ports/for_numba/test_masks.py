"""Masks of several axes, compiled by Numba, pick and write what NumPy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agreement import compiled, require_equal_to_numpy

pytestmark = pytest.mark.nightly  # Numba compiles each body for seconds


def picked(x: Any) -> Any:
    high = x > 2
    some = high | np.isnan(x)
    return x[high], x[~some & (x < 9)], x[x[:, 0] > 3], x[:, x[0] > 1], x[x.T.copy().T > 5]


def written(x: Any) -> Any:
    y, z = x.copy(), x.copy()
    mask = x % 3 == 1
    y[mask] = x[mask] * 2
    y[x > 9] = 0
    z[mask] += 0.1
    z[z > 8] *= z[z > 8]
    z[x[:, 1] > 4] = x[0]
    return y, z


def of_last(x: Any) -> Any:
    hot, y = x[..., 0] > 5, np.zeros(x.shape)
    y[hot, 1] = x[hot, 2] / 2
    y[hot, 0] -= 1
    y[hot] += x[hot]
    return y, x[hot]


def number_as_index(x: Any) -> Any:
    found = np.zeros(2)
    for row in x:
        for one in row:
            found[int(one > 3)] += one
    return found, x


FLOATS = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("body", [picked, written, number_as_index])
def test_elements_are_those_of_numpy(body: Any) -> None:
    require_equal_to_numpy(body, FLOATS)


def test_elements_of_the_last_axis_are_those_of_numpy() -> None:
    require_equal_to_numpy(of_last, np.arange(24.0).reshape(2, 4, 3))


def test_dtypes_of_short_floats_stay() -> None:
    require_equal_to_numpy(written, FLOATS.astype(np.float32))


def test_what_is_not_there_is_refused_as_by_numpy() -> None:
    def too_many(x: Any) -> Any:
        x[x > 3] = np.zeros(3)
        return x

    def of_another_shape(x: Any) -> Any:
        return x[x.T > 3]

    for body, error in ((of_another_shape, IndexError), (too_many, ValueError)):
        for called in (body, compiled(body)):
            with pytest.raises(error):
                called(FLOATS.copy())

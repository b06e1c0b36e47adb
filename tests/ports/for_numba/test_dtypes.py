"""Dtypes that are types of Python's or names, and those of numbers, are NumPy's after compilation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agreement import require_equal_to_numpy


def cast(x: Any) -> Any:
    return (
        x.astype(bool),
        x.astype(float),
        x.astype("int32", copy=False),
        x.astype(dtype=int),
        (x > 1).astype("float"),
        np.zeros(3, dtype=bool),
        np.ones((2, 2), int),
        np.asarray(x, dtype=float),
        np.full(2, True, dtype=bool),
        np.array([1, 2], dtype="float32"),
    )


def of_numbers(x: Any) -> Any:
    found = np.zeros((4, 4), np.float32)
    row = np.floor(x[0, 1] * 0.5).astype("int32")
    found[row, x[1, 0].astype(np.int64)] = np.mean(x).astype(np.float32)
    found[3, 3] = -x.max().astype(np.int32)
    return found, x


@pytest.mark.parametrize(("body", "dtype"), [(cast, "float32"), (of_numbers, "int32")])
def test_values_shapes_and_dtypes_are_those_of_numpy(body: Any, dtype: str) -> None:
    require_equal_to_numpy(body, np.array([[0, 1, 2], [3, 2, 1]], dtype))

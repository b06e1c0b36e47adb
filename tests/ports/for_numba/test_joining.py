"""Lists where Numba takes tuples or arrays give what NumPy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agreement import compiled, require_equal_to_numpy

pytestmark = pytest.mark.nightly  # Numba compiles each body for seconds


def joined(x: Any, y: Any) -> Any:
    return (
        np.concatenate([x, y], axis=0),
        np.concatenate(([0.0], x[0], [1.0, 2.0])),
        np.stack([x[0], y[0]], axis=-1),
        np.hstack([x, y]),
        np.vstack([x[0], y[0]]),
        np.column_stack([x[0], y[0]]),
    )


def of_grown_lists(x: Any, y: Any) -> Any:
    rows, numbers, parts = [], [], [x]
    for row in x:
        rows.append(row * 2)
        numbers.append(row[0])
        parts.append(y)
    stacked = np.stack(rows, axis=1)
    return np.array(rows), stacked, np.array(numbers, dtype=np.float64), np.concatenate(parts), np.concatenate(parts, 0)


def of_comprehensions(x: Any, y: Any) -> Any:
    rows, parts = [], []
    for row in x:
        rows.append(row + 1)
        parts.append(y * 2)
    return (
        *(np.stack([row * 2 for row in x]), np.array([row - 1 for row in y]), np.concatenate([row[1:] for row in x])),
        *(np.vstack(rows), np.hstack(rows), np.column_stack(rows)),
        *(np.vstack(parts), np.hstack(parts), np.column_stack(parts), np.vstack([row[:1] for row in x])),
    )


def indexed(x: Any, y: Any) -> Any:
    i, j = 0, 2
    x = x.copy()
    y = y.copy()
    x[[i, j]] = x[[j, i]]
    y[:, [0, 1]] = 1 - y[:, [1, 0]]
    return x, y, np.zeros([3, 2]), np.full([len(x)], 2.5)


def pair(dtype: str) -> tuple[Any, Any]:
    return np.arange(6).reshape(3, 2).astype(dtype), np.arange(6, 12).reshape(3, 2).astype(dtype)


# Compiling takes seconds for each dtype, so that every body has one of them.
@pytest.mark.parametrize(
    ("body", "dtype"),
    [(joined, "float32"), (of_grown_lists, "int64"), (of_comprehensions, "int64"), (indexed, "float32")],
)
def test_values_shapes_and_dtypes_are_those_of_numpy(body: Any, dtype: str) -> None:
    require_equal_to_numpy(body, *pair(dtype))


def test_a_list_of_numbers_may_stay_empty() -> None:
    def some(x: Any) -> Any:
        kept = [place for place in range(len(x)) if x[place] > 0]
        return np.array(kept, dtype=np.int64)

    np.testing.assert_array_equal(compiled(some)(-np.ones(3)), np.zeros(0, np.int64))
    np.testing.assert_array_equal(compiled(some)(np.array([1.0, -1, 2])), [0, 2])

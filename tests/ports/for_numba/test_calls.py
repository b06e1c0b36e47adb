"""Calls of NumPy's that Numba has no version of give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agreement import compiled, require_equal_to_numpy

pytestmark = pytest.mark.nightly  # Numba compiles each body for seconds


def padded(x: Any) -> Any:
    return (
        np.pad(x, ((1, 2), (0, 0))),
        np.pad(x, [(0, 1), (2, 0)], mode="constant", constant_values=7),
        np.pad(x, ((2, 1), (1, 3)), mode="edge"),
        np.pad(x[0], ((1, 1),), "edge"),
    )


def moved(x: Any) -> Any:
    return (
        np.roll(x, 1, axis=0),
        np.roll(np.roll(x, -1, axis=1), 7, axis=-2),
        np.tile(x[0], (3, 1)),
        np.tile(x, (2, 3)),
        *np.meshgrid(x[0], x[:, 1]),
    )


def counted(x: Any) -> Any:
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    _, again = np.unique(x[0], return_counts=True)
    _, places = np.unique(x[:, 0], return_inverse=True)
    return values, inverse, counts, again, places


def measured(x: Any) -> Any:
    long = np.linalg.norm(x, axis=1, keepdims=True)
    return np.linalg.norm(x, axis=-1), long, x.clip(min=1), x.clip(max=3), x.clip(min=1, max=2)


def chosen(x: Any) -> Any:
    first = np.select([x > 2, x > 1], [x[::-1], -x], default=x)
    sums = np.zeros((4, x.shape[1]))
    np.add.at(sums, np.array([0, 3, 0]), x)
    ones = np.zeros(3)
    np.add.at(ones, np.array([1, 1, 2]), 1)
    return first, sums, ones


def multiplied(x: Any) -> Any:
    whole = np.array([[1, 2], [3, 4], [5, 6], [7, 8]])
    both = np.ones((4, 2))
    return x @ both, np.dot(x, whole), np.matmul(whole.T, x.T), x @ x.T, np.dot(x, [1.0, 2.0, 3.0, 4.0])


def in_another_order(x: Any) -> Any:
    found = np.zeros((3, 4))
    for place in reversed(range(len(x))):
        found[place] = x[place] + found.sum()
    for place in reversed(range(1, len(x))):
        found[place] -= found.sum()
    for row in reversed(x):
        found[0] = found[0] * 2 + row
    return found, x


def spaced(x: Any) -> Any:
    found = np.empty((2, 3), dtype=x.dtype)
    found[:] = np.linspace(0, 1, 3, dtype=np.float32)
    return (
        *(np.linspace(0, 3, 7, endpoint=False), np.linspace(-1, 0.7, num=5, endpoint=True, dtype=np.float64), found),
        *(np.linspace(2, 2, 3, endpoint=False), np.linspace(0, 1, 1, dtype=np.float64)),
    )


def of_functions(x: Any) -> Any:
    return (*(np.add.outer(x[:, 0], x[0]), np.maximum.outer(x, x[0]), np.subtract.outer(x[0], x)),)


def shaped(x: Any) -> Any:
    row = x[:1]
    y, x2 = np.transpose(x), x[:, ::2]
    return (
        *(np.repeat(x, 2, axis=0), np.repeat(x, np.array([1, 0, 2, 1]), axis=1)),
        *(row.squeeze(0), np.squeeze(x[:, 1:2], axis=1), row.squeeze(axis=-2), np.moveaxis(x, 0, -1)),
        *(np.reshape(y, (2, 6)), x.T.reshape(-1), x2.reshape(6), x[1:].reshape(4, 2)),
        np.argsort(x[2], kind="stable"),
    )


def percentiles(x: Any) -> Any:
    q1, q3 = np.percentile(x, [25, 75], axis=0)
    x[0, 0] = np.nan
    return (
        q1,
        q3,
        np.quantile(x[1:], 0.3, axis=1),
        np.nanpercentile(x, (10, 50), axis=-1),
    )


def counted_otherwise(x: Any) -> Any:
    _, index = np.unique(x, return_index=True)
    values, one, two = np.unique(x, return_index=True, return_inverse=True)
    a, b, c, d = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    rows, of, many = np.unique(x[:, :2] // 2, axis=0, return_inverse=True, return_counts=True)
    only = np.unique(x // 2, axis=0)
    return index, values, one, two, a, b, c, d, rows, of.ravel(), many, only


def on_a_grid(x: Any) -> Any:
    h, w = x.shape
    ys, xs = np.mgrid[0:h, 1:w]
    return ys, xs, abs(x - 2), abs(-3) * x


def clipped(x: Any) -> Any:
    found = np.zeros((4, 4))
    for y, z in x[:, :2]:
        low, high = np.clip(y - 1, 0, 2), np.clip(z + 1, 1, 3)
        found[low:high] += 1
    return found, np.clip(x, 1, 2), np.clip(x, x[0], 3)


def of_stacks(x: Any) -> Any:
    stack = np.stack((x, x + 1))
    return stack @ np.ones((4, 2)), np.matmul(stack, x.T), stack @ np.ones(4)


def of_subscripts(x: Any) -> Any:
    return (
        *(np.einsum("ij,kj->ik", x, x), np.einsum("ij,j->i", x, x[0]), np.einsum("ij->j", x), np.einsum("ij->ji", x)),
        *(np.einsum("ij,ij->i", x, x + 1), np.einsum("ij , jk -> ik", x, x.T)),
        np.array([np.einsum("ij,ij->", x, x)]),
    )


def test_a_row_of_pixels_is_weighted() -> None:
    def grey(x: Any) -> Any:
        return np.dot(x[..., :2], [0.5, 0.25]), x

    require_equal_to_numpy(grey, np.arange(24.0).reshape(2, 4, 3))


# Compiling takes seconds for each dtype, so that every body has one of them.
@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        (padded, "int32"),
        (moved, "float32"),
        (counted, "int32"),
        (measured, "float32"),
        (chosen, "int32"),
        (multiplied, "int32"),
        (in_another_order, "float32"),
        (spaced, "float32"),
        (of_functions, "int32"),
        (shaped, "float32"),
        (percentiles, "float64"),
        (counted_otherwise, "int64"),
        (on_a_grid, "int64"),
        (clipped, "int64"),
        (of_stacks, "float64"),
        (of_subscripts, "float32"),
    ],
)
def test_values_shapes_and_dtypes_are_those_of_numpy(body: Any, dtype: str) -> None:
    require_equal_to_numpy(body, np.array([[3, 1, 2, 0], [0, 2, 1, 3], [1, 1, 4, 4]], dtype))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_histograms_are_those_of_numpy_also_at_the_edges(dtype: str) -> None:
    def body(x: Any) -> Any:
        edges = np.array([0.0, 1.0, 2.5, 30.0])
        all_of, limits = np.histogram(x, 7)
        within, of_range = np.histogram(x, bins=10, range=(0.1, 20.3))
        return all_of, limits, within, of_range, np.histogram(x, edges)[0]

    rng = np.random.default_rng(0)
    numbers = np.concatenate([np.arange(31) * 0.7, rng.uniform(0, 30, 500), rng.integers(0, 30, 50)]).astype(dtype)
    require_equal_to_numpy(body, numbers)


def test_what_is_reshaped_and_written_to_is_left_to_numba() -> None:
    """NumPy may write to the array itself there, and a copy would not."""

    def body(x: Any) -> Any:
        y = x[:, :2].reshape(-1)
        y[0] = 7
        return y, x

    with pytest.raises(Exception, match="contiguous"):
        compiled(body)(np.ones((2, 3)))


def test_of_several_nan_one_is_unique() -> None:
    def of_rows(x: Any) -> Any:
        return np.unique(x, return_inverse=True, return_counts=True)

    require_equal_to_numpy(of_rows, np.array([[np.nan, 1.0, np.nan], [1.0, np.nan, 2.0]]))


def test_what_is_padded_may_be_empty_only_with_a_value() -> None:
    def with_zeros(x: Any) -> Any:
        return np.pad(x, ((1, 1), (0, 0)))

    require_equal_to_numpy(with_zeros, np.zeros((0, 2)))

"""Calls, subscripts and statements that Numba has no version of give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy as xp  # noqa: ICN001
import pytest

from agreement import compiled, require_equal_to_numpy

pytestmark = pytest.mark.nightly  # Numba compiles each body for seconds


def padded(x: Any) -> Any:
    return (
        np.pad(x, ((1, 2), (0, 0))),
        np.pad(x, [(0, 1), (2, 0)], mode="constant"),
        np.pad(x, ((2, 1), (1, 3)), mode="edge"),
        np.pad(x[0], ((1, 1),), "edge"),
    )


def moved(x: Any) -> Any:
    return (
        *(np.roll(x, 1, axis=0), np.roll(np.roll(x, -1, axis=1), 7, axis=-2)),
        *(np.tile(x[0], (3, 1)), np.tile(x, (2, 3)), *np.meshgrid(x[0], x[:, 1])),
        *(np.repeat(x, 2, axis=0), np.repeat(x, np.array([1, 0, 2, 1]), axis=1)),
    )


def counted(x: Any) -> Any:
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    _, again = np.unique(x[0], return_counts=True)
    _, places = np.unique(x[:, 0], return_inverse=True)
    rows, of, many = np.unique(x[:, :2] // 2, axis=0, return_inverse=True, return_counts=True)
    return values, inverse, counts, again, places, rows, of.ravel(), many, np.unique(x // 2, axis=0)


def measured(x: Any) -> Any:
    long = np.linalg.norm(x, axis=1, keepdims=True)
    within = x * 2
    np.clip(within, 1, 5, out=within)
    far = np.linalg.norm((x * 20000).astype(np.int32), axis=1)
    return within, far, np.linalg.norm(x, axis=-1), long, x.clip(min=1), x.clip(max=3), x.clip(min=1, max=2)


def chosen(x: Any) -> Any:
    first = np.select([x > 2, x > 1], [x[::-1], -x], default=x)
    sums, ones = np.zeros((4, x.shape[1])), np.zeros(3)
    np.add.at(sums, np.array([0, 3, 0]), x)
    np.add.at(ones, np.array([1, 1, 2]), 1)
    return first, sums, ones, np.add.outer(x[:, 0], x[0]), np.maximum.outer(x, x[0]), np.subtract.outer(x[0], x)


def multiplied(x: Any) -> Any:
    stack, both = np.stack((x, x + 1)), np.ones((4, 2))
    return (
        *(x @ both, np.dot(x, [1.0, 2.0, 3.0, 4.0]), np.matmul(both.T, x.T), both.T @ x[0]),
        *(
            stack @ np.ones((4, 2)),
            np.matmul(stack, x.T * 1.0),
            stack @ np.ones(4),
            np.dot(stack[..., :2], [0.5, 0.25]),
        ),
    )


def in_another_order(x: Any) -> Any:
    found = np.zeros((3, 4))
    for place in reversed(range(len(x))):
        found[place] = x[place] + found.sum()
    for place in reversed(range(1, len(x))):
        found[place] -= found.sum()
    return found, x


def shaped(x: Any) -> Any:
    found = np.empty(shape=[2, 3], dtype=x.dtype)
    found[:] = np.linspace(0, 1, 3, dtype=np.float32)
    ys, xs = np.mgrid[0 : x.shape[0], 1 : x.shape[1]]
    return (
        *(np.linspace(-1, 0.7, num=5, dtype=np.float64), found, ys, xs, abs(x - 2), abs(-3) * x),
        *(np.reshape(np.transpose(x), (2, 6)), x.T.reshape(-1), x[:, ::2].reshape(6), x[1:].reshape(4, 2)),
        *(np.argsort(x[2], kind="stable"), np.array(x[0], np.int32), np.array(x), np.int64(x / 2)),
    )


def percentiles(x: Any) -> Any:
    q1, q3 = np.percentile(x, [25, 75], axis=0)
    x[0, 0] = np.nan
    return q1, q3, np.quantile(x[1:], 0.3, axis=1), np.nanpercentile(x, (10, 50), axis=-1)


def clipped(x: Any) -> Any:
    found = np.zeros((4, 4))
    for y, z in x[:, :2]:
        low, high = np.clip(y - 1, 0, 2), np.clip(z + 1, 1, 3)
        found[low:high] += 1
    return found, np.clip(x, 1, 2), np.clip(x, x[0], 3)


def of_subscripts(x: Any) -> Any:
    return (
        *(np.einsum("ij,kj->ik", x, x), np.einsum("ij,j->i", x, x[0]), np.einsum("ij->j", x), np.einsum("ij->ji", x)),
        *(np.einsum("ij,ij->i", x, x + 1), np.einsum("ij , jk -> ik", x, x.T)),
        np.array([np.einsum("ij,ij->", x, x)]),
    )


def joined(x: Any) -> Any:
    y = x * 2
    return (
        *(np.concatenate([x, y], axis=0), np.concatenate(([0.0], x[0], [1.0, 2.0])), np.hstack([x, y])),
        *(np.stack([x[0], y[0]], axis=-1), np.vstack([x[0], y[0]]), np.column_stack([x[0], y[0]])),
    )


def of_lists(x: Any) -> Any:
    rows, numbers, parts = [], [], [x]
    for row in x:
        rows.append(row * 2)
        numbers.append(row[0])
        parts.append(x)
    return (
        *(np.array(rows), np.stack(rows, axis=1), np.array(numbers, dtype=np.float64), np.array(numbers, np.float32)),
        *(np.vstack(rows), np.hstack(rows), np.column_stack(rows), np.concatenate(parts), np.concatenate(parts, 0)),
        *(np.vstack(parts), np.hstack(parts), np.column_stack(parts), np.vstack([row[:1] for row in x])),
        *(np.stack([row * 2 for row in x]), np.array([row - 1 for row in x])),
    )


def with_lists_as_indices(x: Any) -> Any:
    i, j = 0, 2
    y, z = x.copy(), x.copy()
    y[[i, j]] = y[[j, i]]
    z[:, [0, 1]] = 1 - z[:, [1, 0]]
    return y, z, np.zeros([3, 2]), np.full([len(x)], 2.5)


def with_masks(x: Any) -> Any:
    some = (x > 2) | np.isnan(x)
    y, mask, hot = x.copy(), x % 3 == 1, np.zeros((3, 4, 2))
    y[mask] = x[mask] * 2
    y[x > 3] = 0
    y[x[:, 1] > 1] = x[0]
    hot[x > 1, 1] = hot[x > 1, 0] + 2
    hot[x > 2] = x[0, :2]
    return x[x > 2], x[~some & (x < 9)], x[x[:, 0] > 1], x[:, x[0] > 1], x[x.T.copy().T > 2], y, hot, hot[mask]


def with_dtypes(x: Any) -> Any:
    found = np.zeros((4, 4), np.float32)
    row = np.floor(x[0, 1] * 0.5).astype("int32")
    found[row, x[1, 0].astype(np.int64)] = np.mean(x).astype(np.float32)
    found[3, 3] = -x.max().astype(np.int32)
    return (
        *(found, x.astype(bool), x.astype(float), x.astype("int32", copy=False), x.astype(dtype=int)),
        *((x > 1).astype("float"), np.zeros(3, dtype=bool), np.ones((2, 2), int), np.asarray(x, dtype=float)),
        *(np.full(2, True, dtype=bool), np.array([1, 2], dtype="float32")),
    )


def quiet(x: Any) -> Any:
    with np.errstate(divide="ignore"), np.errstate(invalid="ignore"):
        found = x / x[1]
        found[np.isnan(found)] = 0
    (a, b), (c, d) = x[0, :2], x[1, 1:3]
    e, f, g, h = x[2]
    return found, np.array([a, b, c, d, e, f, g, h]), xp.mean(x, axis=0), xp.concatenate([x, x])


def shadowed(x: Any) -> Any:
    np = max
    return np(x[0, 0], x[1, 1]), x


def with_lambdas(x: Any) -> Any:
    centred = lambda rows, by=2.0: (rows - rows.mean(axis=0, keepdims=True)) * by  # noqa: E731
    both = lambda rows: np.stack([centred(rows), centred(rows[::-1])])  # noqa: E731
    return both(x), centred(x[:, :2])


# Compiling takes seconds for each dtype, so that every body has one of them.
@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        *((padded, "int32"), (moved, "float32"), (counted, "int64"), (measured, "float32"), (chosen, "int32")),
        *((multiplied, "float64"), (in_another_order, "float32"), (shaped, "float32"), (percentiles, "float64")),
        (with_lambdas, "float32"),
        *((clipped, "int64"), (of_subscripts, "float32"), (joined, "float32"), (of_lists, "int64")),
        *((with_lists_as_indices, "float32"), (with_masks, "float32"), (with_dtypes, "float32")),
        *((with_dtypes, "int32"), (quiet, "float64"), (shadowed, "float64")),
    ],
)
def test_values_shapes_and_dtypes_are_those_of_numpy(body: Any, dtype: str) -> None:
    require_equal_to_numpy(body, np.array([[3, 1, 2, 0], [0, 2, 1, 3], [1, 1, 4, 4]], dtype))


def test_histograms_of_float32_from_bytes_are_those_of_numpy() -> None:
    def body(x: Any) -> Any:
        counts, edges = np.histogram(x, 10)
        return np.histogram(x, 256)[0], counts, edges

    of_bytes = np.random.default_rng(0).integers(0, 256, 4000)
    require_equal_to_numpy(body, (of_bytes / 255).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_histograms_are_those_of_numpy_also_at_the_edges(dtype: str) -> None:
    def body(x: Any) -> Any:
        all_of, limits = np.histogram(x, 7)
        within, of_range = np.histogram(x, bins=10, range=(0.1, 20.3))
        by_ends = np.histogram(x, bins=4, range=(x.min(), x.max()))
        return all_of, limits, within, of_range, np.histogram(x, 7, weights=x * 2)[0], by_ends[0], by_ends[1]

    rng = np.random.default_rng(0)
    numbers = np.concatenate([np.arange(31) * 0.7, rng.uniform(0, 30, 500), rng.integers(0, 30, 50)]).astype(dtype)
    require_equal_to_numpy(body, numbers)
    require_equal_to_numpy(body, np.full(6, 2, dtype))


def test_of_several_nan_one_is_unique() -> None:
    def of_rows(x: Any) -> Any:
        return np.unique(x, return_inverse=True, return_counts=True)

    require_equal_to_numpy(of_rows, np.array([[np.nan, 1.0, np.nan], [1.0, np.nan, 2.0]]))


def test_an_option_by_position_is_not_taken_for_the_next_one() -> None:
    def places(x: Any) -> Any:
        return np.unique(x, True)[1]

    errors = pytest.importorskip("numba.core.errors")
    with pytest.raises(errors.TypingError):
        compiled(places)(np.array([3.0, 1.0, 2.0]))


def test_a_list_of_numbers_may_stay_empty() -> None:
    def some(x: Any) -> Any:
        kept = [place for place in range(len(x)) if x[place] > 0]
        return np.array(kept, dtype=np.int64)

    np.testing.assert_array_equal(compiled(some)(-np.ones(3)), np.zeros(0, np.int64))
    np.testing.assert_array_equal(compiled(some)(np.array([1.0, -1, 2])), [0, 2])


def test_masks_that_do_not_fit_are_refused_as_by_numpy() -> None:
    def too_many(x: Any) -> Any:
        x[x > 3] = np.zeros(3)
        return x

    def of_another_shape(x: Any) -> Any:
        return x[x.T > 3]

    for body, error in ((of_another_shape, IndexError), (too_many, ValueError)):
        for called in (body, compiled(body)):
            with pytest.raises(error):
                called(np.arange(12.0).reshape(3, 4))


def test_a_function_inside_reads_what_is_around_it() -> None:
    scale = 2.0

    def inner(x: Any) -> Any:
        return np.mean(x, axis=1, keepdims=True) * scale

    np.testing.assert_array_equal(compiled(inner)(np.ones((2, 2))), [[2.0], [2.0]])

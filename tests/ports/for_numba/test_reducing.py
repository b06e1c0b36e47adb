"""Reductions along axes, and functions of vectors along one, compiled by Numba, give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agreement import compiled, require_equal_to_numpy

pytestmark = pytest.mark.nightly  # Numba compiles each body for seconds


def along_axes(x: Any) -> Any:
    return (
        np.max(x, axis=0),
        x.min(-1),
        np.mean(x, axis=-2),
        x.prod(axis=2),
        np.any(x > 1, axis=1),
        (x > 1).all(0),
        x.std(axis=1),
        np.var(x, 0),
        np.median(x, axis=2),
        np.argmax(x, axis=1),
    )


def with_kept_axes(x: Any) -> Any:
    return (
        np.sum(x, axis=1, keepdims=True),
        x.max(axis=-1, keepdims=True),
        np.mean(x, axis=(0, 2), keepdims=True),
        x.argmin(axis=-2, keepdims=True),
    )


def of_vectors(x: Any) -> Any:
    v = x[0, 0]
    return np.array([v.max(axis=0), np.mean(v, axis=-1), np.median(v, axis=0)]), np.sum(v, axis=0, keepdims=True)


def of_nan(x: Any) -> Any:
    y = x.copy()
    y[0, 1, 2] = np.nan
    y[2, 3, 4] = np.nan
    return np.nanmean(y, axis=1), np.nanmax(y, axis=0), np.max(y, axis=2), np.nanmedian(y, axis=-1)


def of_lists(x: Any) -> Any:
    numbers = [row.sum() * 1.0 for row in x[0]]
    return np.array([np.mean(numbers), np.max(numbers)]), x


def by_argument(x: Any, axis: Any) -> Any:
    return x.max(axis=axis), np.mean(x, axis=axis, keepdims=False)


def each_vector(x: Any) -> Any:
    return (
        np.sort(x, axis=0),
        np.argsort(x * 60 + np.arange(60).reshape(3, 4, 5), axis=-1),
        np.cumsum(x, axis=1),
        np.flip(x, 2),
        np.cumprod(x, axis=-2),
    )


def of_some(x: Any) -> Any:
    return np.max(x, axis=(0, 1)), x.mean(axis=(-1, -2)), x.sum((2, 0)), np.any(x > 3, axis=(1, 2))


# Compiling takes seconds for each dtype, so that every body has one of them.
@pytest.mark.parametrize(
    ("body", "dtype", "others"),
    [
        *((along_axes, "int32", ()), (with_kept_axes, "float32", ()), (of_vectors, "int32", ())),
        *((each_vector, "float32", ()), (of_nan, "float64", ()), (of_lists, "float64", ())),
        *((by_argument, "float32", (-1,)), (of_some, "float32", ())),
    ],
)
def test_values_shapes_and_dtypes_are_those_of_numpy(body: Any, dtype: str, others: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).permutation(60).reshape(3, 4, 5).astype(dtype) % 19
    require_equal_to_numpy(body, x, *others)


def test_what_has_no_elements_has_no_greatest() -> None:
    def greatest(x: Any) -> Any:
        return np.max(x, axis=0)

    with pytest.raises(ValueError, match="zero-size"):
        require_equal_to_numpy(greatest, np.zeros((0, 3)))


def test_a_mean_of_many_numbers_is_as_exact_as_that_of_numpy() -> None:
    """Their sum in 32 bits, one after another, would be wrong in the fifth digit."""

    def over_all(x: Any) -> Any:
        return np.full(2, np.mean(x)), np.full(2, x[0].mean()), x

    require_equal_to_numpy(over_all, np.random.default_rng(0).uniform(0, 255, (400, 500)))
    many = np.random.default_rng(0).uniform(0, 255, (400, 500)).astype(np.float32)
    np.testing.assert_allclose(compiled(over_all)(many)[0], np.mean(many), rtol=1e-6)

"""Calls of NumPy's that Numba has no version of give what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from agreement import compiled, require_equal_to_numpy


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
    ],
)
def test_values_shapes_and_dtypes_are_those_of_numpy(body: Any, dtype: str) -> None:
    require_equal_to_numpy(body, np.array([[3, 1, 2, 0], [0, 2, 1, 3], [1, 1, 4, 4]], dtype))


def test_of_several_nan_one_is_unique() -> None:
    require_equal_to_numpy(counted, np.array([[np.nan, 1.0, np.nan], [1.0, np.nan, 2.0]]))


def test_what_is_padded_may_be_empty_only_with_a_value() -> None:
    def with_zeros(x: Any) -> Any:
        return np.pad(x, ((1, 1), (0, 0)))

    require_equal_to_numpy(with_zeros, np.zeros((0, 2)))


def test_a_number_of_an_array_without_axes_is_python_s() -> None:
    def steps(x: Any, n: Any, share: Any) -> Any:
        return np.full(int(n), float(share)), x

    for n, share in ((3, 0.5), (np.array(3), np.array(0.25))):
        require_equal_to_numpy(steps, np.ones(2), n, share)


def of_tensors(x: Any) -> Any:
    y = tf.cast(x, tf.float32).numpy()
    found = [0.0]
    for row in x.numpy():
        found.append(row.sum())  # noqa: PERF401 - a list that grows
    return tf.convert_to_tensor(y + 1, dtype=tf.float64), tf.constant(found), tf.convert_to_tensor(np.tanh(x.numpy()))


def test_what_makes_tensors_of_arrays_makes_arrays() -> None:
    x = np.linspace(-1, 2, 6).reshape(2, 3)
    expected = [one.numpy() for one in of_tensors(tf.constant(x))]
    found = compiled(of_tensors)(x)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)

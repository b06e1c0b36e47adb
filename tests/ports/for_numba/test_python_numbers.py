"""Numbers of Python's take the dtype of the array that they are computed with, as in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agreement import compiled, require_equal_to_numpy
from pyopbench.ports.extract.definitions import CannotPort

pytestmark = pytest.mark.nightly  # Numba compiles each body for seconds

FACTOR = 0.9
COUNT = 3
STRONG = np.float64(0.9)


def literals(x: Any) -> Any:
    return 0.9 * x, x * 2, 1 - x, x / 3, 3 / (x + 1), x**2, x - 0.25, -0.5 * x, (x + 1) * 0.1


def larger(x: Any) -> Any:
    return 0.9 * (x * x + x), 0.1 + 2 * x, 2 * np.abs(x) + 0.5, 0.5 * x.mean() + x, (x - x.min()) / (1e-6 + x.max())


def names(x: Any) -> Any:
    alpha, steps = 0.3, 4
    beta = 1 - alpha
    return FACTOR * x, x + COUNT, alpha * x + beta * x, x * math.pi, np.pi * x, x * steps, x / len(x), x * x.shape[1]


def of_elements(x: Any) -> Any:
    found = np.zeros(3)
    for i in range(3):
        found[i] = math.log(1 + math.exp(100 * x[0, i])) + math.sqrt(x[0, i])
    return found, x


def strong(x: Any) -> Any:
    return STRONG * x, np.float64(0.9) * x, x * np.ones(3)


def in_place(x: Any) -> Any:
    y = x.copy()
    y *= 2
    y += 1
    z = x + 0
    z = z * 3
    for i in range(3):
        z = z * 2 + i
    y[0] += 2
    y[1, 1] -= 1
    return y, z


def in_place_of_floats(x: Any) -> Any:
    y = x.copy()
    y *= 0.9
    y[0] /= 3
    return y, x


def compared(x: Any) -> Any:
    return x > 0.1, x >= 0.1, x == 0.1, x != 0.7, x < 1, (x > 0.1) & (x < 0.7)


def called(x: Any) -> Any:
    return (
        np.where(x > 1, x, 0),
        np.where(x > 1, 0.5, x),
        np.maximum(x, 0),
        np.minimum(0.7, x),
        np.clip(x, 0, 1),
        np.power(x, 2),
        np.maximum(x, 0) * 2,
    )


def closing_over(number: float) -> Callable[[Any], Any]:
    def body(x: Any) -> Any:
        return number * x, x - number

    return body


def with_default(x: Any, gamma: float = 2.0, alphas: Any = (0.25, 1)) -> Any:
    return alphas[0] * (1 - x) ** gamma, x


def rebound(x: Any) -> Any:
    for i in range(2):
        x = 0.5 * x
        if i > 0:
            x = x + 1.5
    return x, x * 2


def cast_again(x: Any) -> Any:
    t = x.mean()
    t = t.astype(np.float32)
    s = x.sum()
    s = s.astype(np.int32)
    last = x[0, 0]
    for row in x:
        last = row[1].astype(np.float32) + last
    x = x.astype(np.float32)
    return x * t, np.zeros(3, np.float32) + t, np.zeros(3, np.int32) + s, x * 0.1


def complex_numbers(x: Any) -> Any:
    return 1j * x, x + (0.5 + 1j), x * 0.9, x * 2


ARRAY = np.array([[0.1, 0.7, 1.3], [2.9, 0.05, 1.0]])


def scalars_of(x: Any) -> Any:
    return np.zeros(2, np.float32) + 0.1 * x[0, 1], np.zeros(2, np.float32) + (x.max() - 0.5) * 3


def powers(x: Any) -> Any:
    return np.power(x, 2), np.power(x, 3), x**3, np.array([x[0, 0] ** 2, np.power(x[0, 1], 3)])


@pytest.mark.parametrize(
    ("body", "dtypes"),
    [
        (literals, "float32 float64 complex64 uint8"),
        (names, "float32 int8"),
        (in_place, "float32 uint8"),
        (called, "float32 int32"),
        (cast_again, "float32 float64"),
        (complex_numbers, "complex64 float32"),
        (powers, "float32 float64"),
        *((body, "float32") for body in (larger, strong, of_elements, in_place_of_floats, compared, rebound)),
        *((body, "float32") for body in (with_default, scalars_of, closing_over(0.9), closing_over(2))),
    ],
)
def test_values_and_dtypes_are_those_of_numpy(body: Any, dtypes: str) -> None:
    for dtype in dtypes.split():
        x = np.arange(6).reshape(2, 3) if "int" in dtype else ARRAY
        require_equal_to_numpy(body, x.astype(dtype))


def wider(x: Any) -> Any:
    z = x * 0.5
    return (
        *(300 * x.mean(), (x / 2) * 300, x.sum() * 1000, 300 * (0.5 * x), z * 300, (x > 0.5) & (x < 300)),
        *(np.maximum(x, 0.5) * 300, x.astype(np.float64) * 300, np.abs(x) * 2, x.max() * x),
    )


@pytest.mark.parametrize("dtype", ["uint8", "int16"])
def test_a_number_that_short_integers_cannot_hold_keeps_its_value_next_to_what_is_wider(dtype: str) -> None:
    require_equal_to_numpy(wider, np.array([1, 2, 3, 100]).astype(dtype))


def test_bits_are_those_of_numpy() -> None:
    """A product in float64 that is rounded at the end would be another one."""
    x = np.random.default_rng(0).random(1000, np.float32)

    def body(x: Any) -> Any:
        return 0.9 * x + 0.1

    np.testing.assert_array_equal(compiled(body)(x), body(x))


def scalars(x: Any, n: Any) -> Any:
    most = 0.0
    total = 0
    for one in x:
        total += one * 0.5
        if one > most:
            most = one
    a, b = n * n, -n
    return np.array([most * 0.1]), np.array([total + n]), np.array([a, b, x.max() - x.min()]), x * n, np.full(2, b)


def of_python(x: Any, n: Any) -> Any:
    difference = int(x[0]) - int(x[1])
    return np.array([difference, abs(difference)]), np.array([float(x[0])]), x / x, -x, x - n


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("body", [scalars, of_python])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8", "int16"])
def test_scalars_are_computed_in_their_own_dtype(body: Any, dtype: str) -> None:
    require_equal_to_numpy(body, np.array([3, 7, 90]).astype(dtype), np.dtype(dtype).type(100))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_only_numbers_of_python_are_not_divided_by_zero() -> None:
    def divided(x: Any, n: Any) -> Any:
        return x // n, np.array([x[0] // n, x[0] % n]), np.array([x[0] / n]), 7 % int(n + 1)

    def of_python(x: Any, n: Any) -> Any:
        return x * (7 // int(n)), x

    require_equal_to_numpy(divided, np.array([3, 4]), np.int64(0))
    with pytest.raises(ZeroDivisionError):
        compiled(of_python, np.ones(2), np.int64(2))(np.ones(2), np.int64(0))


def half(x: Any) -> Any:
    return x * 0.5


def test_what_numba_would_compute_otherwise_is_refused_with_its_line() -> None:
    def not_run(x: Any) -> Any:
        for row in x[:0]:
            x = row * 0.1
        return x

    def of_both(x: Any) -> Any:
        return half(x), half(x.astype(np.float64))

    for body, why in ((not_run, "no example"), (of_both, "several dtypes")):
        with pytest.raises(CannotPort, match=why) as refusal:
            compiled(body, np.ones((2, 2), np.float32))
        assert refusal.value.place is not None


def test_a_way_that_no_example_goes_is_seen_with_the_condition_turned_around() -> None:
    def body(x: Any) -> Any:
        if x.sum() > 100:
            x = x * 0.1
        return x, x

    large = np.full(3, 70, np.float32)
    np.testing.assert_array_equal(compiled(body, np.ones(3, np.float32))(large), body(large))

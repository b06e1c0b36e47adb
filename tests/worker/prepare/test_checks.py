"""Checks tell right from wrong, and say where.

What a case is checked against: gradients that flow, and those that cannot be told from 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.model.errors import WrongResult
from pyopbench.ops.own.complete import TOLERANCE
from pyopbench.worker.prepare.checks import check_gradients, make_reference, require_equal
from small_ops import square


def check(got: Any, expected: Any, tolerance: float = 1e-6) -> float:
    return require_equal("output 0", got, expected, tolerance)


def complaint(got: Any, expected: Any, tolerance: float = 1e-6) -> str:
    with pytest.raises(WrongResult) as raised:
        check(got, expected, tolerance)
    return raised.value.message


def test_returns_the_largest_error_relative_to_the_largest_magnitude() -> None:
    assert check(np.array([1.0, -8.0, 4.0]), np.array([1.0, -8.0, 4.0])) == 0
    assert check(np.array([1.5, -8.0, 4.25]), np.array([1.0, -8.0, 4.0]), 0.1) == 0.5 / 8


def test_says_index_expected_got_error_and_tolerance() -> None:
    """The worst of several places, in as many dimensions as there are."""
    expected = np.array([[1.0, 2.0], [4.0, 3.0]])
    got = expected + np.array([[0.0, 0.5], [0.0, 1.0]])
    assert complaint(got, expected) == (
        "output 0 differs at index [1, 1]: expected 3.0, got 4.0 (relative error 0.25, tolerance 1e-06)"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_nan_and_infinities_are_right_in_their_own_places_only(dtype: str) -> None:
    special = np.array([np.nan, np.inf, -np.inf, 2.0, 1e-3], dtype=dtype)
    assert check(special, special) == 0
    for index in range(3):
        for wrong in (0.0, np.nan, np.inf, -np.inf):
            got = special.copy()
            got[index] = wrong
            if not np.array_equal(got, special, equal_nan=True):
                assert f"index [{index}]" in complaint(got, special, 1e6)
    for wrong in (np.nan, np.inf, -np.inf):
        got = special.copy()
        got[4] = wrong
        assert f"index [4]: expected 0.001, got {wrong}" in complaint(got, special, 1e6)


@pytest.mark.parametrize("value", [1_000_000, 2**60])
def test_whole_numbers_have_to_be_equal_however_large(value: int) -> None:
    """An index that is off by one is another index, though a float of that size could not tell."""
    expected = np.array([0, value])
    assert check(np.array([0, value]), expected, 0.1) == 0
    assert complaint(np.array([0, value + 1]), expected, 0.1) == (
        f"output 0 differs at index [1]: expected {value}, got {value + 1} (relative error 1, tolerance 0)"
    )


def test_another_dtype_or_shape_is_wrong_before_any_value() -> None:
    assert complaint(np.zeros(2, np.float32), np.zeros(2)) == (
        "output 0 has the wrong type or shape: expected float64 (2,), got float32 (2,)"
    )
    assert complaint(np.zeros(2), np.zeros(2, np.int64)) == (
        "output 0 has the wrong type or shape: expected int64 (2,), got float64 (2,)"
    )
    assert complaint(np.zeros(2), np.zeros((2, 1))) == (
        "output 0 has the wrong type or shape: expected float64 (2, 1), got float64 (2,)"
    )


# Dtypes

EXACT = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int4", "uint4", "bool", "string")


def of_dtype(dtype: str, values: list[Any]) -> Any:
    array = np.array(values)
    return array.astype(object) if dtype == "string" else array.astype(tf.as_dtype(dtype).as_numpy_dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_value_within_the_tolerance_of_its_dtype_is_right_and_one_beyond_is_wrong(dtype: str) -> None:
    """One spacing of numbers off is within, and the next one beyond twice the tolerance is not."""
    tolerance = TOLERANCE[dtype]
    expected = of_dtype(dtype, [1.0, 0.5])
    near = of_dtype(dtype, [1.0, 0.5 + 0.5 * tolerance])
    far = of_dtype(dtype, [1.0, 0.5 + 4 * tolerance])
    assert check(expected, expected, tolerance) == 0
    assert check(near, expected, tolerance) <= tolerance
    assert "index [1]" in complaint(far, expected, tolerance)


@pytest.mark.parametrize("dtype", EXACT)
def test_what_is_not_rounded_has_to_be_equal(dtype: str) -> None:
    values, others = ([b"a", b"b"], [b"a", b"c"]) if dtype == "string" else ([0, 1], [0, 0])
    expected = of_dtype(dtype, values)
    assert check(of_dtype(dtype, values), expected, 0.5) == 0
    assert "index [1]" in complaint(of_dtype(dtype, others), expected, 0.5)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_real_and_imaginary_parts_are_compared_each(dtype: str) -> None:
    expected = np.array([3 - 4j, 1 + 1j], dtype)
    assert check(expected + np.array([0, 2.0**-10], dtype), expected, 2.0**-12) == 2.0**-12
    assert check(expected + np.array([0, 2.0**-10 * 1j], dtype), expected, 2.0**-12) == 2.0**-12
    for wrong in (expected.conj(), -expected, expected * 1j, expected.real.astype(dtype), expected * 1.01):
        assert complaint(wrong, expected, 1e-3)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_of_a_complex_number_are_right_in_their_own_part_only(dtype: str, special: float) -> None:
    expected = np.array([complex(special, 2), complex(2, special), complex(special, special), 1 + 1j], dtype)
    assert check(expected, expected) == 0
    for place in range(3):
        for wrong in (0j, complex(2, 2), complex(2, 3), complex(special, 3), complex(3, special), complex(np.nan, 0)):
            got = expected.copy()
            got[place] = wrong
            assert f"index [{place}]" in complaint(got, expected)
    got = expected.copy()
    got[3] = complex(1, special)
    assert "index [3]" in complaint(got, expected, 1e6)


def _cancelling(x: Any) -> Any:
    return (x - x.mean()).sum() + 1


def _cancelling_gradient(inputs: Any, outputs: Any, output_gradients: Any) -> Any:
    return (np.zeros_like(inputs[0]),)


CANCELLING = square(numpy=_cancelling, numpy_gradient=_cancelling_gradient)
"""Its gradient is 0, of which each way to add its terms leaves another rest."""


def reference_of(op: Any, inputs: Any, dtype: str = "float32") -> Any:
    return make_reference(op, (np.asarray(inputs, dtype),), dtype, np.random.default_rng(0))


def test_what_is_left_of_terms_that_cancel_is_no_gradient() -> None:
    reference = reference_of(CANCELLING, [1.0, 2.0, 3.0])
    assert check_gradients(CANCELLING, [tf.constant([1e-8, -1e-8, 0.0])], reference, "float32") == 0
    with pytest.raises(WrongResult):
        check_gradients(CANCELLING, [tf.constant([0.0, 1e-3, 0.0])], reference, "float32")
    with pytest.raises(WrongResult):
        check_gradients(CANCELLING, [tf.constant([0.0, np.nan, 0.0])], reference, "float32")


def test_a_small_gradient_of_a_large_output_is_checked_all_the_same() -> None:
    """1e6 + x has the slope 1, however little of it the rounded output shows."""
    op = square(
        numpy=lambda x: x.sum() + np.float32(1e6),
        numpy_gradient=lambda inputs, outputs, slopes: (np.full_like(inputs[0], slopes[0]),),
    )
    reference = reference_of(op, [1.0, 2.0, 3.0])
    with pytest.raises(WrongResult):
        check_gradients(op, [tf.constant([0.5, 1.0, 1.0])], reference, "float32")


def test_nothing_flows_into_an_output_that_is_nan() -> None:
    """Where there is no value there is no slope: one library says 1, another one 0."""
    op = square()
    reference = reference_of(op, [1.0, np.nan, 3.0])
    (slopes,) = reference.output_gradients
    assert slopes[1] == 0
    assert (slopes[[0, 2]] >= 0.5).all()

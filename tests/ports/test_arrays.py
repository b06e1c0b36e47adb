"""Arrays as they cross between tensors and bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pyopbench.ports.arrays import as_array, as_given, byte_count, dtype_of, is_same, relative_errors

WORDS = ["a", "Ärger", ""]


@pytest.mark.parametrize("dtype", [None, "string"])
def test_text_becomes_bytes_as_tensorflow_hands_it_over(dtype: str | None) -> None:
    found = as_array(WORDS, dtype)
    assert found.tolist() == tf.constant(WORDS).numpy().tolist()
    assert (found.dtype, dtype_of(found)) == (object, "string")


def test_text_keeps_its_shape_also_where_there_is_none() -> None:
    assert as_array([["a", "b"]]).shape == (1, 2)
    assert as_array([], "string").shape == (0,)
    assert as_array("one").shape == ()


def test_a_dtype_is_given_to_what_has_another() -> None:
    assert as_array(1.5, "float32").dtype == np.float32
    assert dtype_of(as_array([True])) == "bool"


def test_a_single_text_is_given_as_bytes_and_arrays_as_copies() -> None:
    array = np.ones(2)
    text, copy = as_given((as_array("word"), array))
    assert text == b"word"
    copy[0] = 5
    assert array[0] == 1


def test_bytes_of_text_are_those_of_the_text() -> None:
    assert byte_count(as_array(WORDS)) == 1 + 6 + 0
    assert byte_count(np.ones(3)) == 24


@pytest.mark.parametrize("value", [WORDS, "one", [1.0, np.nan], 3])
def test_a_tensor_is_the_same_as_the_array_it_was_made_of(value: object) -> None:
    assert is_same(tf.constant(as_array(value)), as_array(value))


@pytest.mark.parametrize(("value", "other"), [(["a"], ["b"]), ("a", "b"), ([0.0], [-0.0])])
def test_a_tensor_that_differs_by_a_letter_or_a_bit_is_not_the_same(value: object, other: object) -> None:
    assert not is_same(tf.constant(as_array(value)), as_array(other))


@pytest.mark.parametrize(
    ("found", "expected", "errors"),
    [
        ([1.0, 3.0], [1.0, 4.0], [0.0, 0.25]),
        ([0.0, 0.5], [0.0, 0.0], [0.0, 0.5]),
        ([np.nan, np.inf, 1.0], [np.nan, np.inf, 2.0], [0.0, 0.0, 0.5]),
        ([np.nan, 1.0], [1.0, np.inf], [np.inf, np.inf]),
        ([1 + 2j, 4j], [1 + 1j, 4j], [0.25, 0.0]),
        ([1, 2, 300], [1, 2, 299], [0, 0, 1]),
        (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object), [0, 1]),
        (tf.constant([1.0, 4.0], tf.bfloat16).numpy(), tf.constant([1.0, 3.0], tf.bfloat16).numpy(), [0, 1 / 3]),
    ],
)
def test_errors_are_relative_to_the_largest_magnitude(found: Any, expected: Any, errors: list[float]) -> None:
    np.testing.assert_allclose(relative_errors(np.asarray(found), np.asarray(expected)), errors)


def test_another_dtype_or_shape_is_not_the_same() -> None:
    assert not is_same(np.float32(1), np.float64(1))
    assert not is_same(np.ones((1, 2)), np.ones((2, 1)))

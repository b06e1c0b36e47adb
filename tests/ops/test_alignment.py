"""Copies begin in memory where they are asked to, and hold what they are copies of."""

from __future__ import annotations

import numpy as np
import pytest

from pyopbench.ops.alignment import aligned, aligned_as_given, unaligned

ARRAYS = (
    np.arange(7, dtype=np.float32),
    np.arange(6.0).reshape(2, 3).T,
    np.array(3, np.int64),
    np.array([True, False]),
)


@pytest.mark.parametrize("array", ARRAYS)
def test_a_copy_begins_where_it_should_and_is_the_same_array(array: np.ndarray) -> None:
    """By the address that NumPy itself gives."""
    for copy, offset in ((aligned(array), 0), (unaligned(array), 16)):
        assert copy.__array_interface__["data"][0] % 64 == offset
        assert (copy.shape, copy.dtype) == (array.shape, array.dtype)
        np.testing.assert_array_equal(copy, array)


def test_a_copy_is_memory_of_its_own() -> None:
    array = np.ones(3)
    aligned(array)[0] = 7.0
    assert array[0] == 1.0


def test_what_a_body_is_given_is_aligned_and_text_is_as_it_is() -> None:
    number, words = aligned_as_given((unaligned(np.ones(5)), np.array([b"a", b"b"], object)))
    assert number.ctypes.data % 64 == 0
    assert words.tolist() == [b"a", b"b"]

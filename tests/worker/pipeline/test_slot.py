"""Arrays go through memory that two processes share, and that nobody has to take back."""

from __future__ import annotations

import os

import numpy as np
import pytest

from pyopbench.worker.pipeline.process import Slot, bytes_for

ARRAYS = (
    np.arange(12, dtype=np.float32).reshape(3, 4),
    np.array([[True], [False]]),
    np.zeros((2, 0), np.int64),
    np.float64(2.5) * np.ones(()),
    np.array([b"text", b""], object),
)


def test_what_is_put_is_taken_by_whoever_has_the_descriptor() -> None:
    mine = Slot(bytes_for([one for one in ARRAYS if one.dtype != object]))
    other = Slot(mine.size, os.dup(mine.descriptor))
    found = other.take(mine.put(ARRAYS))
    for got, expected in zip(found, ARRAYS, strict=True):
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(got, expected)
    mine.close()
    other.close()


def test_what_does_not_fit_goes_along_with_the_message() -> None:
    slot = Slot(64)
    large = np.arange(1000.0)
    (found,) = slot.take(slot.put([large]))
    np.testing.assert_array_equal(found, large)
    slot.close()


def test_what_was_taken_stays_when_the_memory_is_used_again() -> None:
    slot = Slot(4096)
    (first,) = slot.take(slot.put([np.ones(8)]))
    slot.put([np.zeros(8)])
    np.testing.assert_array_equal(first, np.ones(8))
    slot.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_the_memory_has_no_name_and_closing_twice_is_allowed() -> None:
    slot = Slot(4096)
    link = os.readlink(f"/proc/self/fd/{slot.descriptor}")
    assert link.endswith("(deleted)")
    slot.close()
    slot.close()

"""What the machine can do at most, on clocks whose every reading is known, and what the kernels compute."""

from __future__ import annotations

import json
import mmap
import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from pyopbench.store.line_types import decode_line
from pyopbench.worker.machine_limits import CHUNK_ELEMENTS, Extent, best_seconds, copies, measure, triads

READING = 2.0**-10


class FakeClock:
    """Stands still, until something takes its time."""

    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        return self.now


class ClockOfThreads:
    """Moves on by `READING` with each reading, and is another one in each thread, whatever their order."""

    def __init__(self) -> None:
        self._own = threading.local()

    def pass_time(self, seconds: float) -> None:
        self._own.now = getattr(self._own, "now", 0.0) + seconds

    def __call__(self) -> float:
        self.pass_time(READING)
        return float(self._own.now)


def extent(**changes: object) -> Extent:
    return Extent(**{"working_sets": (2**15,), "order": 8, "threads": 1, "block_seconds": 1.0, **changes})  # type: ignore[arg-type]


def piece_of(clock: FakeClock, costs: Iterator[float]):
    def piece() -> None:
        clock.now += next(costs)

    return piece


def test_the_best_block_counts_and_is_shared_by_its_passes() -> None:
    """The first two passes take half a second, so that two of them make a block of one second."""
    clock = FakeClock()
    costs = iter([0.5, 0.75, *(0.5, 0.75), *(0.5, 0.25), *(1.0, 1.0)])
    assert best_seconds([piece_of(clock, costs)], clock, extent(repetitions=3)) == pytest.approx(0.75 / 2)
    assert next(costs, None) is None


def test_a_pass_that_takes_longer_than_a_block_is_made_once() -> None:
    clock = FakeClock()
    costs = iter([8.0, 4.0, 3.0, 5.0])
    assert best_seconds([piece_of(clock, costs)], clock, extent(repetitions=2)) == 3.0
    assert next(costs, None) is None


def test_a_clock_that_stands_still_ends_all_the_same() -> None:
    calls: list[int] = []
    chosen = extent(repetitions=1, block_seconds=1e-5)
    assert best_seconds([lambda: calls.append(1)], FakeClock(), chosen) == 0.0
    assert 3 <= len(calls) <= 13


def test_pieces_run_at_the_same_time() -> None:
    """Each of them waits until all three have come."""
    meeting = threading.Barrier(3, timeout=30)
    chosen = extent(repetitions=2, block_seconds=4 * READING)
    assert best_seconds([meeting.wait] * 3, ClockOfThreads(), chosen) == READING / 4


def test_the_slowest_piece_ends_a_pass() -> None:
    clock = ClockOfThreads()
    pieces = [lambda seconds=seconds: clock.pass_time(seconds) for seconds in (1.0, 3.0, 2.0)]
    assert best_seconds(pieces, clock, extent(repetitions=1)) == 3.0 + READING


def test_what_a_piece_raises_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        best_seconds([lambda: 1 // 0], FakeClock(), extent())


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("elements", [2, 1000, CHUNK_ELEMENTS + 1, 3 * CHUNK_ELEMENTS])
def test_the_kernels_compute_what_they_are_named_after(threads: int, elements: int) -> None:
    rng = np.random.default_rng(elements)
    before = rng.random((2, elements), np.float32)
    b, c = before.copy()
    copied, summed = np.zeros((2, elements), np.float32)
    for piece in (*copies((copied, b), threads), *triads((summed, b, c), threads)):
        piece()
    np.testing.assert_array_equal(copied, before[0])
    np.testing.assert_array_equal(summed, before[0] + np.float32(3) * before[1])


@pytest.mark.parametrize("kernel", [copies, triads])
def test_a_kernel_has_a_piece_for_each_thread(kernel) -> None:
    assert len(kernel(np.zeros((3 if kernel is triads else 2, 100), np.float32), 4)) == 4


@pytest.mark.parametrize("threads", [1, 3])
def test_limits_are_what_is_moved_and_computed_over_the_time_of_a_pass(threads: int) -> None:
    """A block takes one reading of the clock, whatever is in it: six passes, and one where a reading is enough."""
    for block_seconds, passes in ((6 * READING, 6), (READING, 1)):
        chosen = extent(working_sets=(2**15, 2**17), threads=threads, block_seconds=block_seconds)
        found = measure(ClockOfThreads(), chosen)
        seconds = READING / passes
        # Arrays are whole KiB: two of 16 for a copy, three of 10 for a triad; four times as much is 64 and 42.
        assert found["bandwidths"] == [
            {"working_set_bytes": 2**15, "copy": 32 * 1024 / seconds, "triad": 30 * 1024 / seconds},
            {"working_set_bytes": 2**17, "copy": 128 * 1024 / seconds, "triad": 126 * 1024 / seconds},
        ]
        # A product of 8 x 8 matrices: 64 sums of 8 products.
        assert found["peaks"] == {"float32": 1024 / seconds, "float64": 1024 / seconds}


def test_limits_can_be_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the system has no large pages to give."""
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    line = {"kind": "limits", "launch": 0, **measure(ClockOfThreads(), extent())}
    decode_line(json.dumps(line).encode(), "here")


def test_there_is_a_thread_for_each_core_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    assert Extent().threads == 3

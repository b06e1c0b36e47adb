"""Bodies whose cost is known, to see what being timed by pyopbench adds to it.

A body waits until the clock has moved on by a given time, without TensorFlow and without anything that noise could
stretch: what interrupts it is part of the wait, unless it outlasts it. What a call costs beyond its wait, which is the
calling and the last step past the end, does not depend on how long the wait is. It is known from rows of calls of the
shortest body, written out one after the other: the difference between a long row and a short one holds neither a loop
nor a reading of the clock around it. What is left between that and a timed block is the harness: its loop, its clock,
the correction for it, and what the event before a block does to these few lines.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from pyopbench.worker.sampling import Clock

DURATIONS = (20e-6, 200e-6, 2e-3)
"""Seconds, ascending: from the cheapest call of a `tf.function` to one of a million elements."""

CALLS_APART = 2
"""Calls that the long row has more than the short one: few, so that little interrupts a row."""

ROWS = 1001
"""Rows of each length, in turns, that the medians are taken over."""


def waiting(seconds: float, clock: Clock) -> Callable[[], None]:
    """Return a body that does nothing until the clock has moved on by `seconds`."""

    def body() -> None:
        end = clock() + seconds
        while clock() < end:
            pass

    return body


def known_seconds(clock: Clock) -> tuple[float, ...]:
    """Return what one call of `waiting` costs for each of `DURATIONS`."""
    body = waiting(DURATIONS[0], clock)
    rows = [(_short_row(body, clock), _long_row(body, clock)) for _ in range(ROWS)]
    short = statistics.median(short for short, _ in rows)
    beyond = (statistics.median(long for _, long in rows) - short) / CALLS_APART - DURATIONS[0]
    return tuple(seconds + beyond for seconds in DURATIONS)


def _short_row(call: Callable[[], Any], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


def _long_row(call: Callable[[], Any], clock: Clock) -> float:
    start = clock()
    call()
    call()
    call()
    return clock() - start

"""Seconds of a call while several threads call at once: what Python's lock in a callback costs a server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asv_suite import selection
from asv_suite.preparation import case_of, prepare_case
from asv_suite.timing import OwnClock

BLOCK_SECONDS = 0.02
"""About how long a sample lasts: threads that begin a little later than others are then a small part of it."""
PATIENCE_SECONDS = 60.0
"""How long threads wait for one another; one that the system refuses to start would keep the others for ever."""


class Team:
    """Threads that call one thing at once, again and again."""

    def __init__(self, threads: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._barrier = threading.Barrier(threads, timeout=PATIENCE_SECONDS)
        self._clock = clock

    def seconds(self, call: Callable[[], Any], calls: int) -> float:
        """Let each thread make so many calls; return the seconds from the first to begin to the last to be done."""

        def work(_: int) -> tuple[float, float]:
            self._barrier.wait()
            begin = self._clock()
            for _ in range(calls):
                call()
            return begin, self._clock()

        spans = list(self._pool.map(work, range(self.threads)))
        return max(end for _, end in spans) - min(begin for begin, _ in spans)


class ConcurrentLatency(OwnClock):
    """Seconds over all calls that threads make at once: half of one thread's where two do not wait for each other."""

    params = selection.threaded()
    param_names = selection.THREAD_NAMES
    version = "1"
    team: Team | None = None

    def setup(self, op: str, variant: str, size: int, threads: int) -> None:
        """Prepare a forward call of a `tf.function`, and find how many of them each thread makes in a sample."""
        if self.team is not None:
            return
        prepared = prepare_case(case_of(op, variant, size, "forward"))
        from pyopbench.worker.suite_api import calibrate, measure_timer

        clock = time.perf_counter
        self.calls = calibrate(prepared.segments, BLOCK_SECONDS, clock, measure_timer(clock)).calls
        (self.call,) = prepared.segments
        self.team = Team(threads)

    def time_calls(self, *_: Any) -> None:
        """Let all threads call, and advance the clock by the seconds of one call of all that were made."""
        assert self.team is not None
        self.seconds += self.team.seconds(self.call, self.calls) / (self.calls * self.team.threads)

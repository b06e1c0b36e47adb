"""Seconds of a call: forward, backward, and both.

A sample is a block of calls as pyopbench times it, with the stamp between forward and backward, and the clock is
advanced by the seconds of one call.
"""

from __future__ import annotations

import time
from typing import Any

from asv_suite import selection
from asv_suite.preparation import OfOneCase
from asv_suite.timing import BLOCK_SECONDS, OwnClock


class _Latency(OwnClock, OfOneCase):
    params = selection.placed()
    param_names = selection.PLACED_NAMES

    def setup(self, op: str, variant: str, size: int, placement: str = "cpu") -> None:
        """Prepare the case, and find how many calls a sample has."""
        if self.prepared is not None:
            return
        super().setup(op, variant, size, placement)
        from pyopbench.worker.suite_api import calibrate, measure_timer

        assert self.prepared is not None
        self.cost = measure_timer(time.perf_counter)
        self.calls = calibrate(self.prepared.segments, BLOCK_SECONDS, time.perf_counter, self.cost).calls

    def time_call(self, *_: Any) -> None:
        """Time a block and advance the clock by the seconds of one of its calls."""
        from pyopbench.worker.suite_api import measure_block

        assert self.prepared is not None
        block = measure_block(self.prepared.segments, self.calls, time.perf_counter, self.cost)
        self.seconds += sum(block[i] for i in self.prepared.timed) / self.calls


class ForwardLatency(_Latency):
    """Seconds of a forward call."""

    direction = "forward"


class BackwardLatency(_Latency):
    """Seconds of the backward pass alone, from the stamp after forward on."""

    direction = "backward"


class ForwardBackwardLatency(_Latency):
    """Seconds of a forward call under a tape and the backward pass over it."""

    direction = "forward_backward"

"""Seconds of a call: forward, backward, both, and of bridges with nothing behind them.

asv's own clock goes around a whole call, which leaves no way to time backward without its forward pass, and in
asv_runner 0.3.2 around a single call, however short (`TimeBenchmark.run`). So these benchmarks bring a clock of their
own, as asv offers (`timer`): a sample is a block of calls as pyopbench times it, with the stamp between forward and
backward, and the clock is advanced by the seconds of one call.
"""

from __future__ import annotations

import time
from typing import Any

from asv_suite import selection
from asv_suite.preparation import OfOneCase

BLOCK_SECONDS = 0.002
"""About how long a sample lasts: some times what the first call of a block costs more than the others."""


class _Latency(OfOneCase):
    number = 1
    warmup_time = 0  # a prepared case is warm
    rounds = 2  # asv's own default: two processes for each combination
    repeat = (8, 60, 0.5)  # samples in a process: at least, at most, and the seconds after which it is enough

    def setup(self, op: str, variant: str, size: int) -> None:
        """Prepare the case, and find how many calls a sample has."""
        if self.prepared is not None:
            return
        super().setup(op, variant, size)
        from pyopbench.worker.suite_api import calibrate, measure_timer

        self.seconds = 0.0
        self.cost = measure_timer(time.perf_counter)
        segments = self.prepared.segments
        self.calls = calibrate(segments, BLOCK_SECONDS, time.perf_counter, self.cost).calls

    def timer(self) -> float:
        """Return the seconds of one call of each block so far, added up."""
        return self.seconds

    def time_call(self, *_: Any) -> None:
        """Time a block and advance the clock by the seconds of one of its calls."""
        from pyopbench.worker.suite_api import measure_block

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


class BridgeLatency(_Latency):
    """Seconds of a callback with nothing to do: it takes many elements and gives one, or takes one and gives many."""

    params = selection.bridges()
    direction = "forward"

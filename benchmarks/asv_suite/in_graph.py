"""Seconds that one op takes inside a graph, which is what porting it saves: the headline of pyopbench's own report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from asv_suite import selection
from asv_suite.preparation import Setting, case_of, skipped_if_not_supported
from asv_suite.timing import BLOCK_SECONDS, OwnClock

if TYPE_CHECKING:
    from pyopbench.worker.suite_api import Prepared


class _InGraph(OwnClock):
    """A sample is a block of an empty graph and one of a graph of copies; what they differ by is shared by the copies.

    A sample may come out below zero where an op costs less than the noise of a call; asv takes the median of all.
    """

    params: Any = selection.ops()
    param_names = selection.PARAM_NAMES
    version = "1"
    direction = "forward"
    graphs: tuple[Prepared, Prepared] | None = None
    samples = 0

    def setup(self, op: str, variant: str, size: int) -> None:
        """Prepare both graphs, and find how many calls a block has: as many for one as for the other."""
        if self.graphs is not None:
            return
        case = case_of(op, variant, size, self.direction, Setting(mode="node"))
        with skipped_if_not_supported():
            from pyopbench.worker.suite_api import calibrate, measure_timer, prepare_in_graph

            graphs = prepare_in_graph(case)
        clock = time.perf_counter
        self.cost = measure_timer(clock)
        self.calls = min(calibrate(one.segments, BLOCK_SECONDS, clock, self.cost).calls for one in graphs)
        self.graphs = graphs

    def time_op(self, *_: Any) -> None:
        """Time a block of each graph, the other one first each time, and advance the clock by the seconds of an op."""
        from pyopbench.worker.suite_api import measure_block

        assert self.graphs is not None
        seconds = [0.0, 0.0]
        for place in (0, 1) if self.samples % 2 == 0 else (1, 0):
            (seconds[place],) = measure_block(self.graphs[place].segments, self.calls, time.perf_counter, self.cost)
        self.samples += 1
        empty, copies = seconds
        self.seconds += (copies - empty) / self.calls / self.graphs[1].copies


class ForwardInGraph(_InGraph):
    """Seconds of one forward pass inside a graph."""

    direction = "forward"


class ForwardBackwardInGraph(_InGraph):
    """Seconds of one forward and backward pass inside a graph."""

    direction = "forward_backward"

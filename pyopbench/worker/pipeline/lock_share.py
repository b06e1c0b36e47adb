"""Calls of the body by one thread, by several, and by as many processes: what tells how much of it holds the lock."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from pyopbench.model.threads import call_together
from pyopbench.ports.arrays import as_given
from pyopbench.worker.pipeline.form import PipelineContext

ELEMENTS = 8


def thread_rate(context: PipelineContext, threads: int, seconds: float) -> float:
    """Return calls of the body a second by so many threads at once, each over and over on elements of its own copies.

    Raises:
        Exception: whatever the body raises, in any thread.
    """
    rows = [[as_given(row) for row in context.elements.inputs[:ELEMENTS]] for _ in range(threads)]
    return sum(call_together([partial(_calls_a_second, context.elements.body, own, seconds) for own in rows]))


def _calls_a_second(body: Any, rows: list[tuple[Any, ...]], seconds: float) -> float:
    calls = 0
    start = now = time.perf_counter()
    while now - start < seconds:
        body(*rows[calls % len(rows)])
        calls += 1
        now = time.perf_counter()
    return calls / (now - start)

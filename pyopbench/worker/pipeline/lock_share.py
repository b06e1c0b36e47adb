"""Calls of the body by one thread, by several, and by as many processes: what tells how much of it holds the lock."""

from __future__ import annotations

import threading
import time
from typing import Any

from pyopbench.catalogue.arrays import as_given
from pyopbench.worker.pipeline.form import PipelineContext

ELEMENTS = 8


def thread_rate(context: PipelineContext, threads: int, seconds: float) -> float:
    """Return calls of the body a second by so many threads at once, each over and over on elements of its own copies.

    Raises:
        Exception: whatever the body raises, in any thread.
    """
    counts, errors = [0.0] * threads, []
    barrier = threading.Barrier(threads)

    def work(place: int) -> None:
        rows = [as_given(row) for row in context.elements.inputs[:ELEMENTS]]
        try:
            barrier.wait()
            counts[place] = _calls_a_second(context.elements.body, rows, seconds)
        except Exception as error:  # noqa: BLE001 - a body may raise anything
            errors.append(error)
            barrier.abort()

    workers = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    if errors:
        raise errors[0]
    return sum(counts)


def _calls_a_second(body: Any, rows: list[tuple[Any, ...]], seconds: float) -> float:
    calls = 0
    start = now = time.perf_counter()
    while now - start < seconds:
        body(*rows[calls % len(rows)])
        calls += 1
        now = time.perf_counter()
    return calls / (now - start)

"""How much of a body holds the interpreter's lock, from calls a second of one thread and of several.

A body of which a share `s` holds the lock gives, with `n` threads at once, `1 / (s + (1 - s) / n)` times the calls of
one: G. M. Amdahl, AFIPS Conference Proceedings 30 (1967) 483-485. What `n` is worth on a machine is measured and not
assumed: as many processes, which share no lock, give `n` times the calls of one where each has a core to itself, and
less where they share caches, memory or the two halves of a core, or where the body has threads of its own.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyopbench.stats.estimate import Estimate, exp

LEAST_SPEEDUP = 1.25
"""Of processes: if they bring less, nothing can be said of the lock, because nothing would scale."""


@dataclass(frozen=True)
class LockShare:
    """How much of the body holds the lock.

    Attributes:
        share: 0 for a body that lets go of it, 1 for one that holds it from end to end; nan where it cannot be told.
        low, high: the interval of 95% over launches; nan for one launch.
        many: threads, and processes.
        thread_speedup: calls of many threads over those of one.
        process_speedup: the same for processes.
        scaling: for every number of threads that was tried, ascending: it, and the speedups of threads and processes.
    """

    share: float
    low: float
    high: float
    many: int
    thread_speedup: float
    process_speedup: float
    scaling: tuple[tuple[int, float, float], ...]

    @property
    def is_known(self) -> bool:
        """Can it be told at all?"""
        return math.isfinite(self.share)

    def speedup(self, threads: float) -> float:
        """Return the line of Amdahl's law: how many times the calls of one so many threads give."""
        return 1 / (self.share + (1 - self.share) / threads)


def lock_share(rates: Sequence[Mapping[str, Any]]) -> LockShare | None:
    """Return how much of a body holds the lock, by the most threads that were tried; None where no process was asked.

    Args:
        rates: as in `pipeline.json`.
    """
    usable = [one for one in rates if one["processes"] is not None]
    if not usable:
        return None
    many = max(int(one["many"]) for one in usable)
    scaling = tuple(_speedups(usable, count) for count in sorted({int(one["many"]) for one in usable}))
    launches: dict[int, list[Mapping[str, Any]]] = {}
    for one in (one for one in usable if one["many"] == many):
        launches.setdefault(one["launch"], []).append(one)
    threads = {launch: _median_log(rows, "threads", "one_thread") for launch, rows in launches.items()}
    processes = {launch: _median_log(rows, "processes", "one_process") for launch, rows in launches.items()}
    by_threads, by_processes = (exp(statistics.mean(one.values())) for one in (threads, processes))
    if by_processes < LEAST_SPEEDUP:
        return LockShare(math.nan, math.nan, math.nan, many, by_threads, by_processes, scaling)
    found = Estimate.of([_share(exp(threads[one]), by_processes) for one in launches])
    low, high = found.interval()
    return LockShare(_clipped(found.mean), _clipped(low), _clipped(high), many, by_threads, by_processes, scaling)


def _speedups(rates: Sequence[Mapping[str, Any]], count: int) -> tuple[int, float, float]:
    rows = [one for one in rates if one["many"] == count]
    threads, processes = _median_log(rows, "threads", "one_thread"), _median_log(rows, "processes", "one_process")
    return count, exp(threads), exp(processes)


def _median_log(rows: Sequence[Mapping[str, Any]], several: str, one: str) -> float:
    return statistics.median(math.log(row[several] / row[one]) for row in rows)


def _share(speedup: float, possible: float) -> float:
    return (possible / speedup - 1) / (possible - 1)


def _clipped(share: float) -> float:
    """Return a share that noise, or threads that slow one another down, took out of the range; nan stays."""
    return share if math.isnan(share) else min(max(share, 0.0), 1.0)

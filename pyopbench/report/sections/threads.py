"""Calls from several threads; only where a run has cases of mode `threads:N`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyopbench.judge.concurrency import Measured, ThreadedCalls, thread_failures, thread_numbers, threaded_calls
from pyopbench.model import formatting
from pyopbench.model.case import THREADS, Case, Failure
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

COLUMNS = ("variant", "threads", "calls/s", "interval", "times callback", "median", "95%", "99%")
INTRO = (
    "Several threads of one process call the same tf.function at once, as a server does, each with its own inputs; "
    "results of simultaneous calls were checked before. Calls per second are of all threads together, with their 95% "
    "interval. Times are how long a caller waits: the median, the 95th and the 99th percentile. A callback waits for "
    "the GIL, a port does not, so compare how calls per second grow with threads."
)


def _row(one: ThreadedCalls) -> tuple[Cell | str, ...]:
    """Return the cells of `COLUMNS`."""
    return (
        one.label,
        str(one.threads),
        formatting.number(one.rate.value),
        _interval(one.rate),
        _times(one),
        *map(formatting.seconds, one.latencies),
    )


def _times(one: ThreadedCalls) -> str:
    times = one.times_baseline
    return formatting.MISSING if times is None else formatting.ratio_interval(times.value, times.low, times.high)


def _interval(of: Measured) -> str:
    if not (math.isfinite(of.low) and math.isfinite(of.high)):
        return formatting.MISSING
    return f"{formatting.number(of.low)}–{formatting.number(of.high)}"


def _refusal(failure: Failure) -> str:
    """Return which case has no number, and why."""
    case = Case.from_id(failure.case)
    gradient = "" if case.direction == "forward" else f" with {case.gradient}"
    where = f"{case.variant}{gradient}, {formatting.direction(case.direction)}"
    return f"{where}: {failure.status}, {failure.reason}"


def build(judgement: Judgement) -> Sequence[Block]:
    """Return a table for each op, direction, size and dtype, and what was refused."""
    if not thread_numbers(judgement.run):
        return ()
    places: dict[str, list[ThreadedCalls]] = {}
    for one in threaded_calls(judgement.run, judgement.baseline):
        case = one.case
        title = f"{case.op}, {formatting.direction(case.direction)}, size {formatting.size(case.size)}, {case.dtype}"
        places.setdefault(title, []).append(one)
    tables = [Table(COLUMNS, tuple(map(_row, rows)), title, headings=2) for title, rows in places.items()]
    return (Paragraph(INTRO), *tables, *_refused(judgement))


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return a row for each measured case, calls a second by the fewest and by the most threads, and what was refused.

    With one number of threads there is nothing to compare it with, so it has one column.
    """
    numbers = thread_numbers(judgement.run)
    if not numbers:
        return ()
    counts = tuple(dict.fromkeys((min(numbers), max(numbers))))
    by_case: dict[Case, dict[int, ThreadedCalls]] = {}
    for one in threaded_calls(judgement.run, judgement.baseline):
        by_case.setdefault(replace(one.case, mode=THREADS), {})[one.threads] = one
    dtypes = len({case.dtype for case in by_case}) > 1
    rows = tuple(
        (
            f"{case.op} {case.dtype}" if dtypes else case.op,
            formatting.direction(case.direction),
            formatting.size(case.size),
            calls[counts[-1]].label,
            *(formatting.number(calls[n].rate.value) if n in calls else formatting.MISSING for n in counts),
            _times(calls[counts[-1]]),
        )
        for case, calls in by_case.items()
        if counts[-1] in calls
    )
    columns = ("op", "direction", "size", "variant", *(formatting.count(n, "thread") for n in counts), "times callback")
    table = Table(columns, rows, "Calls per second of all threads together")
    return (*((table,) if rows else ()), *_refused(judgement))


def _refused(judgement: Judgement) -> tuple[Block, ...]:
    reasons = tuple(dict.fromkeys(map(_refusal, thread_failures(judgement.run))))
    return (Bullets(reasons),) if reasons else ()

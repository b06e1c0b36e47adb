"""Calls from several threads; only where a run has cases of mode `threads:N`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.judge.concurrency import Measured, ThreadedCalls, thread_failures, thread_numbers, threaded_calls
from pyopbench.model import formatting
from pyopbench.model.case import THREADS, Case, Failure
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

Place: TypeAlias = tuple[str, str, int, str]

COLUMNS = ("variant", "threads", "calls/s", "interval", "times callback", "median", "95%", "99%")
INTRO = (
    "Several threads of one process call the same tf.function at once, as a server does, each with its own inputs; "
    "results of simultaneous calls were checked before. Calls per second are of all threads together, with their 95% "
    "interval. Times are how long a caller waits: the median, the 95th and the 99th percentile. A callback waits for "
    "the GIL, a port does not, so compare how calls per second grow with threads."
)
SUMMARY = "Calls a second, with all threads together"


def _summary_columns(fewest: int, most: int) -> tuple[str, ...]:
    """Return the columns of `_summary_row`; with one number of threads there is nothing to hold it against."""
    counts = dict.fromkeys((fewest, most))
    return ("op", "direction", "size", "variant", *(formatting.count(one, "thread") for one in counts), COLUMNS[4])


def _summary_row(
    case: Case, first: ThreadedCalls | None, last: ThreadedCalls, *, with_dtype: bool
) -> tuple[Cell | str, ...]:
    """Return the cells of `_summary_columns`: of a case, called by the fewest and by the most threads."""
    times = last.times_baseline
    ends = (last,) if first is last else (first, last)
    return (
        f"{case.op} {case.dtype}" if with_dtype else case.op,
        formatting.direction(case.direction),
        formatting.size(case.size),
        last.label,
        *(formatting.MISSING if one is None else formatting.number(one.rate.value) for one in ends),
        formatting.MISSING if times is None else formatting.ratio_interval(times.value, times.low, times.high),
    )


def _title(op: str, direction: str, size: float, dtype: str) -> str:
    """Return the heading of a table."""
    return f"{op}, {formatting.direction(direction)}, size {formatting.size(size)}, {dtype}"


def _row(one: ThreadedCalls) -> tuple[Cell | str, ...]:
    """Return the cells of `COLUMNS`."""
    times = one.times_baseline
    return (
        one.label,
        str(one.threads),
        formatting.number(one.rate.value),
        _interval(one.rate),
        formatting.MISSING if times is None else formatting.ratio_interval(times.value, times.low, times.high),
        *map(formatting.seconds, one.latencies),
    )


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
    places: dict[Place, list[ThreadedCalls]] = {}
    for one in threaded_calls(judgement.run, judgement.baseline):
        case = one.case
        places.setdefault((case.op, case.direction, case.size, case.dtype), []).append(one)
    tables = [Table(COLUMNS, tuple(map(_row, rows)), _title(*place), headings=2) for place, rows in places.items()]
    refused = _refused(judgement)
    return (Paragraph(INTRO), *tables, *((Bullets(refused),) if refused else ()))


def summary(judgement: Judgement) -> Table:
    """Return a row for each measured case: calls a second by the fewest and by the most threads."""
    numbers = thread_numbers(judgement.run)
    if not numbers:
        return Table((), (), "")
    fewest, most = min(numbers), max(numbers)
    rows = tuple(_summarized(threaded_calls(judgement.run, judgement.baseline), fewest, most))
    return Table(_summary_columns(fewest, most), rows, SUMMARY)


def _summarized(calls: Sequence[ThreadedCalls], fewest: int, most: int) -> Iterator[tuple[Cell | str, ...]]:
    several = len({one.case.dtype for one in calls}) > 1
    for case, found in groupby(calls, key=lambda one: replace(one.case, mode=THREADS)):
        by_threads = {one.threads: one for one in found}
        if most in by_threads:
            yield _summary_row(case, by_threads.get(fewest), by_threads[most], with_dtype=several)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the summary and what was refused; nothing where no calls from threads were measured."""
    if not thread_numbers(judgement.run):
        return ()
    shown, refused = summary(judgement), _refused(judgement)
    return (*((shown,) if shown.rows else ()), *((Bullets(refused),) if refused else ()))


def _refused(judgement: Judgement) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(_refusal, thread_failures(judgement.run))))


SECTION = Section("threads", "Calls from several threads", 26, build, brief)

"""Calls from several threads, in words."""

from __future__ import annotations

import math

from pyopbench.judge.concurrency import Measured, ThreadedCalls
from pyopbench.model import formatting
from pyopbench.model.case import Case, Failure
from pyopbench.report.sections import Cell, _cells

COLUMNS = ("variant", "threads", "calls/s", "interval", "times callback", "median", "95%", "99%")
INTRO = (
    "Several threads of one process call the same tf.function at once, as a server does, each with its own inputs; "
    "results of simultaneous calls were checked before. Calls per second are of all threads together, with their 95% "
    "interval. Times are how long a caller waits: the median, the 95th and the 99th percentile. A callback waits for "
    "the GIL, a port does not, so compare how calls per second grow with threads."
)


SUMMARY = "Calls a second, with all threads together"


def summary_columns(fewest: int, most: int) -> tuple[str, ...]:
    """Return the columns of `summary_row`; with one number of threads there is nothing to hold it against."""
    counts = dict.fromkeys((fewest, most))
    return ("op", "direction", "size", "variant", *(formatting.count(one, "thread") for one in counts), COLUMNS[4])


def summary_row(
    case: Case, first: ThreadedCalls | None, last: ThreadedCalls, *, with_dtype: bool
) -> tuple[Cell | str, ...]:
    """Return the cells of `summary_columns`: of a case, called by the fewest and by the most threads."""
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


def title(op: str, direction: str, size: float, dtype: str) -> str:
    """Return the heading of a table."""
    return f"{op}, {formatting.direction(direction)}, size {formatting.size(size)}, {dtype}"


def row(one: ThreadedCalls) -> tuple[Cell | str, ...]:
    """Return the cells of `COLUMNS`."""
    times = one.times_baseline
    return (
        Cell(one.label, field="variant", value=one.label),
        Cell(str(one.threads), number=one.threads),
        Cell(formatting.number(one.rate.value), number=one.rate.value),
        _interval(one.rate),
        formatting.MISSING if times is None else formatting.ratio_interval(times.value, times.low, times.high),
        *map(_cells.seconds, one.latencies),
    )


def _interval(of: Measured) -> str:
    if not (math.isfinite(of.low) and math.isfinite(of.high)):
        return formatting.MISSING
    return f"{formatting.number(of.low)}–{formatting.number(of.high)}"


def refusal(failure: Failure) -> str:
    """Return which case has no number, and why."""
    case = Case.from_id(failure.case)
    gradient = "" if case.direction == "forward" else f" with {case.gradient}"
    where = f"{case.variant}{gradient}, {formatting.direction(case.direction)}"
    return f"{where}: {failure.status}, {failure.reason}"

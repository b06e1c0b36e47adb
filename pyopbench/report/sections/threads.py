"""Calls from several threads; only where a run has cases of mode `threads:N`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.judge.concurrency import ThreadedCalls, thread_failures, thread_numbers, threaded_calls
from pyopbench.model.case import THREADS
from pyopbench.report import threads_text as wording
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

Place: TypeAlias = tuple[str, str, int, str]


def build(judgement: Judgement) -> Sequence[Block]:
    """Return a table for each op, direction, size and dtype, and what was refused."""
    if not thread_numbers(judgement.run):
        return ()
    places: dict[Place, list[ThreadedCalls]] = {}
    for one in threaded_calls(judgement.run, judgement.baseline):
        case = one.case
        places.setdefault((case.op, case.direction, case.size, case.dtype), []).append(one)
    tables = [
        Table(wording.COLUMNS, tuple(map(wording.row, rows)), wording.title(*place), headings=2)
        for place, rows in places.items()
    ]
    refused = _refused(judgement)
    return (Paragraph(wording.INTRO), *tables, *((Bullets(refused),) if refused else ()))


def summary(judgement: Judgement) -> Table:
    """Return a row for each measured case: calls a second by the fewest and by the most threads."""
    numbers = thread_numbers(judgement.run)
    if not numbers:
        return Table((), (), "")
    fewest, most = min(numbers), max(numbers)
    rows = tuple(_summarized(threaded_calls(judgement.run, judgement.baseline), fewest, most))
    return Table(wording.summary_columns(fewest, most), rows, wording.SUMMARY)


def _summarized(calls: Sequence[ThreadedCalls], fewest: int, most: int) -> Iterator[tuple[Cell | str, ...]]:
    several = len({one.case.dtype for one in calls}) > 1
    for case, found in groupby(calls, key=lambda one: replace(one.case, mode=THREADS)):
        by_threads = {one.threads: one for one in found}
        if most in by_threads:
            yield wording.summary_row(case, by_threads.get(fewest), by_threads[most], with_dtype=several)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the summary and what was refused; nothing where no calls from threads were measured."""
    if not thread_numbers(judgement.run):
        return ()
    shown, refused = summary(judgement), _refused(judgement)
    return (*((shown,) if shown.rows else ()), *((Bullets(refused),) if refused else ()))


def _refused(judgement: Judgement) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(wording.refusal, thread_failures(judgement.run))))


SECTION = Section("threads", "Calls from several threads", 26, build, brief)

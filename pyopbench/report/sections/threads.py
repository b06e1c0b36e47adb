"""Calls from several threads; only where `pyopbench run --threads` measured them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.judge.concurrency import ThreadedCalls, threaded_calls
from pyopbench.report import threads_text as wording
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

Place: TypeAlias = tuple[str, str, int, str]


def build(judgement: Judgement) -> Sequence[Block]:
    """Return a table for each op, direction, size and dtype, and what was refused."""
    document = judgement.run.threads
    if document is None:
        return ()
    places: dict[Place, list[ThreadedCalls]] = {}
    for one in threaded_calls(document, judgement.baseline):
        case = one.case
        places.setdefault((case.op, case.direction, case.size, case.dtype), []).append(one)
    tables = [
        Table(wording.COLUMNS, tuple(map(wording.row, rows)), wording.title(*place), headings=2)
        for place, rows in places.items()
    ]
    refused = tuple(dict.fromkeys(map(wording.refusal, document["failures"])))
    return (Paragraph(wording.INTRO), *tables, *((Bullets(refused),) if refused else ()))


def summary(judgement: Judgement) -> Table:
    """Return a row for each measured case: calls a second by the fewest and by the most threads."""
    document = judgement.run.threads
    if document is None:
        return Table((), (), "")
    fewest, most = min(document["threads"]), max(document["threads"])
    rows = tuple(_summarized(threaded_calls(document, judgement.baseline), fewest, most))
    return Table(wording.summary_columns(fewest, most), rows, wording.SUMMARY)


def _summarized(calls: Sequence[ThreadedCalls], fewest: int, most: int) -> Iterator[tuple[Cell | str, ...]]:
    several = len({one.case.dtype for one in calls}) > 1
    for case, found in groupby(calls, key=lambda one: one.case):
        by_threads = {one.threads: one for one in found}
        if most in by_threads:
            yield wording.summary_row(case, by_threads.get(fewest), by_threads[most], with_dtype=several)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the summary and what was refused; nothing where no calls from threads were measured."""
    document = judgement.run.threads
    if document is None:
        return ()
    shown = summary(judgement)
    refused = tuple(dict.fromkeys(map(wording.refusal, document["failures"])))
    return (*((shown,) if shown.rows else ()), *((Bullets(refused),) if refused else ()))


SECTION = Section("threads", "Calls from several threads", 26, build, brief)

"""Calls from several threads; only where `pyopbench run --threads` measured them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyopbench.judge.concurrency import ThreadedCalls, threaded_calls
from pyopbench.report.sections import Block, Bullets, Paragraph, Section, Table
from pyopbench.report.wording import threads as wording

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement

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


SECTION = Section("threads", "Calls from several threads", 26, build)

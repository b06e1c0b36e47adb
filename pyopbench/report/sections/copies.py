"""Which bridges share memory on the host; only where `pyopbench copies` has been kept in the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.report import copy_costs_text as wording
from pyopbench.report.sections import Block, Bullets, Paragraph, Section, Table
from pyopbench.store import copy_costs

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


def build(judgement: Judgement) -> Sequence[Block]:
    """Return which way over which bridge is a copy, what it costs, and where a body can overwrite its input."""
    document = judgement.run.copy_costs
    if document is None:
        return ()
    intro = (
        "Memory is shared if both ends have the same address. MB/s are for an array of "
        f"{formatting.byte_count(copy_costs.largest_bytes(document))} in one process, without the cost of one element."
    )
    tables = [
        Table(wording.COLUMNS, tuple(wording.table(document, direction)), direction, headings=3)
        for direction in copy_costs.DIRECTIONS
    ]
    refused = wording.refusals(document)
    notes = (Bullets(tuple(refused)),) if refused else ()
    return (
        Paragraph(intro),
        *tables,
        *notes,
        Paragraph(wording.hazards(document), "warn"),
        *_with_gpu(document),
    )


def _with_gpu(document: Mapping[str, Any]) -> Sequence[Block]:
    found = wording.gpu_tables(document)
    if not found:
        return (Paragraph("Copies between host and GPU were not measured; `pyopbench copies --device gpu` does."),)
    tables = [Table(columns, tuple(rows), title, headings=3) for title, columns, rows in found]
    return (Paragraph(wording.gpu_devices(document)), *tables)


SECTION = Section("copies", "Copies on the host", 39, build)

"""Where each op should run, and what each placement copies; only where `pyopbench placement` was kept in the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.model.places import ROUTES
from pyopbench.report import counted_copies_text as wording
from pyopbench.report.sections import Block, Bullets, Cell, Heading, Paragraph, Section, Table
from pyopbench.store import counted_copies
from pyopbench.store.counted_copies import CopiesRow, Note

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

SIMULATED_INTRO = (
    "Copies between host and device, counted on a simulated GPU whose memory is the host's. This shows what is copied "
    "and where ops run; it says nothing about time."
)
GPU_INTRO = "Copies between host and device on a GPU, from TensorFlow's profiler."
READING = (
    "Copies in one call with new inputs: ↑ to the device, ↓ to the host. {marks}. If your data is on the device, a "
    "port without copies saves these too, which the ratios of this report, measured on the CPU, do not include."
)


def build(judgement: Judgement) -> Sequence[Block]:
    """Return where to run each op, what each variant copies, and what a reader of the counts would miss."""
    document = judgement.run.counted_copies
    if document is None:
        return ()
    rows = _measured(judgement)
    if not rows:
        return (Paragraph("The counted copies in this run's folder are of other ops.", "warn"),)
    kind = "simulated" if document["device"] == "simulated" else "GPU"
    blocks: list[Block] = [
        Paragraph(SIMULATED_INTRO if kind == "simulated" else GPU_INTRO),
        *_other_version(document, judgement),
        Paragraph(READING.format(marks=wording.marks_text())),
    ]
    for op in _ops(rows):
        mine = [row for row in rows if row.case.op == op]
        blocks += [
            Heading(op, of_op=True),
            Bullets(tuple(_places(op, mine))),
            *_tables(op, mine, kind),
            *_notes(mine),
        ]
    return blocks


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return where to run each op."""
    rows = _measured(judgement)
    items = [f"{op}: {sentence}" for op in _ops(rows) for sentence in _places(op, rows)]
    return (*build(judgement)[:1], *((Bullets(tuple(items)),) if items else ()))


def _measured(judgement: Judgement) -> list[CopiesRow]:
    """Return the rows of ops that the run measured; nothing where no copies were counted."""
    document = judgement.run.counted_copies
    measured = {str(op) for op in judgement.latencies["op"]}
    return [row for row in counted_copies.rows_of(document) if row.case.op in measured] if document else []


def _ops(rows: Sequence[CopiesRow]) -> list[str]:
    return list(dict.fromkeys(row.case.op for row in rows))


def _places(op: str, rows: Sequence[CopiesRow]) -> list[str]:
    return [wording.place_text(copies) for copies in counted_copies.copies_at_places(op, rows)]


def _other_version(document: Mapping[str, Any], judgement: Judgement) -> Sequence[Block]:
    then, now = document["tensorflow"], judgement.run.environment["tensorflow"]
    if then == now:
        return ()
    return (Paragraph(f"They were counted on TensorFlow {then}, but this run used {now}: count them again.", "warn"),)


def _tables(op: str, rows: Sequence[CopiesRow], kind: str) -> list[Block]:
    tables: list[Block] = []
    for mode, direction in counted_copies.SETTINGS:
        there = [row for row in rows if (row.case.mode, row.case.direction) == (mode, direction)]
        if there:
            caption = f"{op}, {formatting.direction(direction)}, {wording.MODE_WORDS[mode]} ({kind})"
            columns = ("variant", "pinned", *(f"{start} → {end}" for start, end in ROUTES))
            tables.append(Table(columns, _table_rows(there), caption, folded=True, headings=2))
    return tables


def _table_rows(rows: Sequence[CopiesRow]) -> tuple[tuple[Cell | str, ...], ...]:
    lines: dict[tuple[str, str], dict[tuple[str, str], Cell]] = {}
    for row in rows:
        tone = "warn" if counted_copies.excess(row) != "none" else "muted" if row.refused else ""
        cell = Cell(wording.count_text(row), tone)  # type: ignore[arg-type]
        lines.setdefault((row.case.variant, row.pinned), {})[row.route] = cell
    return tuple((variant, pinned, *(cells[route] for route in ROUTES)) for (variant, pinned), cells in lines.items())


def _notes(rows: Sequence[CopiesRow]) -> Sequence[Block]:
    notes: dict[Note, dict[str, None]] = {}
    for row in rows:
        for note in counted_copies.notes(row):
            notes.setdefault(note, {})[f"{row.case.variant} ({row.pinned})"] = None
    if not notes:
        return ()
    return (Bullets(tuple(f"{', '.join(names)}: {wording.note_text(note)}" for note, names in notes.items())),)


SECTION = Section("placement", "Copies between host and device", 36, build, brief)

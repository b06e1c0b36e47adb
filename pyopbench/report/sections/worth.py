"""What a port is worth in a step of the user's program: shares, hours, and what the step would be without the op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.findings import finite
from pyopbench.judge.program import Port, Worth
from pyopbench.model import formatting
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table
from pyopbench.report.sections._places import FIELDS, Places, places_of

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

COLUMNS = ("share of the step afterwards", "speed-up of the step", "hours saved per million steps")


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what each candidate leaves of the op's share of a step; nothing where no step was given."""
    if judgement.step is None or not judgement.worths:
        return ()
    places = places_of(judgement)
    return (
        Paragraph(judgement.step.text()),
        Bullets(tuple(worth.text(", ".join(_head(worth, places))) for worth in judgement.worths)),
        *_table_and_note(table(judgement, places)),
    )


def _table_and_note(shown: Table) -> tuple[Block, ...]:
    """Return the table with how to read it; nothing where the calls of every op overlap."""
    note = (
        "In brackets: the lower end of the 95% interval. Hours are for one process whose calls run one after another; "
        "calls that overlap with other work save less."
    )
    return (shown, Paragraph(note)) if shown.rows else ()


def table(judgement: Judgement, places: Places) -> Table:
    """Return a row for every candidate of every op whose calls can be one after another in the step."""
    rows: tuple[tuple[Cell | str, ...], ...] = tuple(
        (worth.op, worth.use, *places.of(_fields(worth)), port.label, *_left(port))
        for worth in judgement.worths
        if not worth.overlaps
        for port in worth.ports
    )
    return Table(("op", "use", *places.varying, "port", *COLUMNS), rows, "What each port leaves", headings=2)


def _head(worth: Worth, places: Places) -> tuple[str, ...]:
    return (worth.op, worth.use, *places.of(_fields(worth)))


def _fields(worth: Worth) -> dict[str, str]:
    return {field: getattr(worth, field) for field in FIELDS}


def _left(port: Port) -> tuple[Cell | str, ...]:
    """Return what a port leaves and saves; a lower end that tells nothing makes the others' digits mean nothing too."""
    if formatting.is_too_noisy(1 - port.saved, 1 - port.saved_low):
        return (formatting.TOO_NOISY,) * len(COLUMNS)
    share = f"{formatting.percent(port.share)} ({formatting.percent(port.share_low)})"
    speed_up = f"{formatting.ratio(finite(port.speed_up))} ({formatting.ratio(finite(port.speed_up_low))})"
    hours = f"{formatting.number(port.hours)} ({formatting.number(port.hours_low)})"
    return (share, speed_up, hours)


SECTION = Section("worth", "What a port is worth", 15, build, build)

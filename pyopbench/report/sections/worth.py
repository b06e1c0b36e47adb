"""What a port is worth in a step of the user's program: shares, hours, and the end that Amdahl's law puts to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.core import formatting
from pyopbench.judge.step_savings import Port, Worth
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table, _cells
from pyopbench.report.sections._places import FIELDS, Places, places_of
from pyopbench.report.wording.step_savings import step_text, worth_text

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement

LEAST_GAIN = 0.1
"""A lower end below it, where a port might take ten times as long as today, says that too few launches were made."""

COLUMNS = ("share of the step afterwards", "the step gets faster by", "hours saved per million steps")


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what each candidate leaves of the op's share of a step; nothing where no step was given."""
    if judgement.step is None or not judgement.worths:
        return ()
    places = places_of(judgement)
    return (
        Paragraph(step_text(judgement.step)),
        Bullets(tuple(worth_text(worth, ", ".join(_head(worth, places))) for worth in judgement.worths)),
        table(judgement, places),
        Paragraph(
            "In brackets: the lower end of the interval (95%, corrected as in the decisions). Hours count one process "
            "at a time, with the calls one after another in the step; calls that overlap with other work save less."
        ),
    )


def table(judgement: Judgement, places: Places) -> Table:
    """Return a row for every candidate of every op."""
    rows: tuple[tuple[Cell | str, ...], ...] = tuple(
        (worth.op, worth.use, *places.cells(_fields(worth)), _cells.variant(port.label), *_left(port))
        for worth in judgement.worths
        for port in worth.ports
    )
    return Table(("op", "use", *places.varying, "port", *COLUMNS), rows, "What each port leaves", headings=2)


def _head(worth: Worth, places: Places) -> tuple[str, ...]:
    return (worth.op, worth.use, *places.of(_fields(worth)))


def _fields(worth: Worth) -> dict[str, str]:
    return {field: getattr(worth, field) for field in FIELDS}


def _left(port: Port) -> tuple[Cell, ...]:
    share = f"{formatting.percent(port.share)} ({formatting.percent(_low(port, port.share_low))})"
    speed_up = f"{formatting.ratio(_finite(port.speed_up))} ({formatting.ratio(_low(port, port.speed_up_low))})"
    hours = f"{formatting.number(port.hours)} ({formatting.number(_low(port, port.hours_low))})"
    return (Cell(share, number=port.share), Cell(speed_up, number=port.speed_up), Cell(hours, number=port.hours))


def _low(port: Port, value: float) -> float | None:
    return _finite(value) if port.gain_low >= LEAST_GAIN else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


SECTION = Section("worth", "What a port is worth", 15, build, build)

"""The page of a history: the changes, a chart of each series that has one, and a table of all series."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pyopbench.judge.comparison import history as wording
from pyopbench.judge.comparison.changes import FoundChange, Traced
from pyopbench.judge.comparison.history import History
from pyopbench.model import formatting
from pyopbench.report import page
from pyopbench.report.charts.history import series_chart
from pyopbench.report.charts.picture import Spec
from pyopbench.report.history import COLUMNS, LONGEST_NAME, MOST_COMMANDS, row_of
from pyopbench.report.sections import Bullets, Cell, Code, Paragraph, Table

MOST_CHARTS = 40
"""So many series with a change have a chart, the most important first; each takes a third of a second."""


@dataclass(frozen=True)
class Figure:
    """A series with a chart.

    Attributes:
        anchor: where links to it lead.
        name, note: its heading, and what its values are.
        spec: the chart.
    """

    anchor: str
    name: str
    note: str
    spec: Spec


def html(history: History) -> str:
    """Return the page."""
    numbers = list(dict.fromkeys(change.number for change in history.changes))
    figures = [_figure(history, number) for number in numbers[:MOST_CHARTS]]
    left = len(numbers) - len(figures)
    first, last = history.moments[0], history.moments[-1]
    return page.rendered(
        "history.html.j2",
        title=history.title(),
        span=first.label if first == last else f"{first.label} to {last.label}",
        tools=formatting.listing(history.tools),
        answer=[Paragraph(history.summary()), *_changes(history), Paragraph(history.alarm_text(), "muted")],
        remarks=[Bullets(tuple(note.text() for note in history.notes))] if history.notes else [],
        commands=_commands(history),
        figures=figures,
        more=[Paragraph(f"{left:,} more series with changes have no chart.", "muted")] if left else [],
        table=Table(
            ("case", "values", "points", "first level", "last level"),
            tuple(_series(one) for one in history.traced),
            "All series",
            folded=True,
        ),
        anchors={one.anchor: one.anchor for one in figures},
    )


def _changes(history: History) -> list[Table]:
    if not history.changes:
        return []
    rows = tuple(_row(history, change) for change in history.changes)
    return [Table(COLUMNS, rows, wording.CHANGES_CAPTION)]


def _row(history: History, change: FoundChange) -> tuple[Cell | str, ...]:
    case, *others = row_of(history, change)
    return (Cell(case, op=_anchor(change.number)), *others)


def _commands(history: History) -> list[Paragraph | Code]:
    commands = [one.text() for one in history.reruns()[:MOST_COMMANDS]]
    return [Paragraph(wording.RERUN), Code("\n".join(commands))] if commands else []


def _figure(history: History, number: int) -> Figure:
    traced = history.traced[number]
    mine = [change for change in history.changes if change.number == number]
    name = formatting.shorten(traced.series.name, LONGEST_NAME)
    return Figure(_anchor(number), name, traced.series.measure_text(), series_chart(traced, history.moments, mine))


def _series(traced: Traced) -> tuple[str, ...]:
    series, levels = traced.series, traced.found.levels
    show = formatting.ratio if series.measure == "ratio" else formatting.seconds
    ends = (show(math.exp(one.mean)) for one in (levels[0], levels[-1]))
    return (formatting.shorten(series.name, LONGEST_NAME), series.measure_text(), f"{len(series.values):,}", *ends)


def _anchor(number: int) -> str:
    return f"series-{number}"

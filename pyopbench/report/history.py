"""A history as a page with a chart of each series, as Markdown, as JSON, and as rows for a terminal."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

from pyopbench.judge.comparison.history import CHANGES_CAPTION, RERUN, FoundChange, History, Series
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.model.formatting import printable
from pyopbench.report import page
from pyopbench.report.charts.history import series_chart
from pyopbench.report.charts.picture import Spec
from pyopbench.report.comparison import LONGEST_NAME, shared_parts, short_names
from pyopbench.report.markdown import escape, fence, table
from pyopbench.report.sections import Bullets, Cell, Code, Paragraph, Table
from pyopbench.store.json_file import without_nan

SCHEMA = 2
COLUMNS = ("case", "change", "from, to")
MOST_MARKDOWN = 200
"""So many changes are listed in Markdown, the most important first; the JSON has all."""
MOST_COMMANDS = 20
MOST_CHARTS = 40
"""So many series with a change have a chart, the most important first; each takes a third of a second."""


def row_of(history: History, change: FoundChange) -> tuple[str, ...]:
    """Return the cells of `COLUMNS` for a change."""
    return (
        formatting.shorten(history.series[change.number].name, LONGEST_NAME) + _relative(history, change),
        change.text(),
        change.place_text(),
    )


def _relative(history: History, change: FoundChange) -> str:
    anchor = history.series[change.number].anchor
    return f", relative to {Case.from_id(anchor).variant}" if anchor else ""


def short_rows(history: History, most: int) -> tuple[str, list[tuple[str, ...]]]:
    """Return the rows of the first changes for a narrow place.

    Returns:
        The parts that the cases of all series have in common, which the rows go without; and the cells of `COLUMNS`
        for each change.
    """
    cases = [one.name for one in history.series]
    names = short_names(cases)
    rows = [(names[one.number] + _relative(history, one), *row_of(history, one)[1:]) for one in history.changes[:most]]
    return shared_parts(cases), rows


def markdown(history: History) -> str:
    """Return the history as Markdown: the changes and what is to be known about them."""
    lines = [f"## {escape(history.title())}", "", escape(history.summary()), ""]
    rows = [row_of(history, change) for change in history.changes[:MOST_MARKDOWN]]
    if rows:
        lines += table(COLUMNS, rows)
        if len(rows) < len(history.changes):
            lines += ["", f"and {len(history.changes) - len(rows):,} more"]
        lines.append("")
    lines += [escape(history.alarm_text()), ""]
    lines += [f"- {escape(one.text())}" for one in history.notes]
    commands = history.commands()[:MOST_COMMANDS]
    if commands:
        lines += ["", RERUN, "", str(fence("\n".join(commands)))]
    return printable("\n".join(lines).rstrip() + "\n")


def as_json(history: History) -> str:
    """Return the history as JSON."""
    document = {
        "schema": SCHEMA,
        "axis": history.axis,
        "tools": history.tools,
        "minimum_effect": history.minimum_effect,
        "moments": [asdict(moment) for moment in history.moments],
        "series": [_series(one) for one in history.series],
        "changes": [_change(history, change) for change in history.changes],
        "commands": history.commands(),
        "notes": [asdict(note) for note in history.notes],
        "warnings": [asdict(warning) for warning in history.warnings],
    }
    return json.dumps(without_nan(document), sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def _series(series: Series) -> dict[str, Any]:
    points = series.points
    return {
        "case": series.case,
        "environment": dict(series.environment),
        "tool": series.tool,
        "measure": series.measure,
        "anchor": series.anchor or None,
        "between": series.between,
        "points": {
            "moment": points["place"].tolist(),
            **{name: _rounded(points[name]) for name in ("value", "error", "low", "high")},
            "launches": points["launches"].tolist(),
        },
        "levels": [asdict(level) for level in series.found.levels],
    }


def _change(history: History, change: FoundChange) -> dict[str, Any]:
    return {**asdict(change), "case": history.series[change.number].case, "direction": change.direction}


def _rounded(values: Any) -> list[float]:
    return [float(f"{value:.6g}") for value in values.tolist()]


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
            tuple(_series_row(one) for one in history.series),
            "All series",
            folded=True,
        ),
        anchors={one.anchor: one.anchor for one in figures},
    )


def _changes(history: History) -> list[Table]:
    if not history.changes:
        return []
    rows = tuple(_linked_row(history, change) for change in history.changes)
    return [Table(COLUMNS, rows, CHANGES_CAPTION)]


def _linked_row(history: History, change: FoundChange) -> tuple[Cell | str, ...]:
    case, *others = row_of(history, change)
    return (Cell(case, op=_anchor(change.number)), *others)


def _commands(history: History) -> list[Paragraph | Code]:
    commands = history.commands()[:MOST_COMMANDS]
    return [Paragraph(RERUN), Code("\n".join(commands))] if commands else []


def _figure(history: History, number: int) -> Figure:
    series = history.series[number]
    mine = [change for change in history.changes if change.number == number]
    name = formatting.shorten(series.name, LONGEST_NAME)
    return Figure(_anchor(number), name, series.measure_text(), series_chart(series, history.moments, mine))


def _series_row(series: Series) -> tuple[str, ...]:
    levels = series.found.levels
    show = formatting.ratio if series.measure == "ratio" else formatting.seconds
    ends = (show(math.exp(one.mean)) for one in (levels[0], levels[-1]))
    return (formatting.shorten(series.name, LONGEST_NAME), series.measure_text(), f"{len(series.points):,}", *ends)


def _anchor(number: int) -> str:
    return f"series-{number}"

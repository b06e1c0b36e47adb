"""The interactive page of a history: one chart for each series, drawn when it comes near the window."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopbench.judge.comparison import history as wording
from pyopbench.judge.comparison.changes import FoundChange, Traced
from pyopbench.judge.comparison.history import History
from pyopbench.model import formatting
from pyopbench.report import page
from pyopbench.report.charts.history import series_chart
from pyopbench.report.history import COLUMNS, LONGEST_NAME, MOST_COMMANDS, row_of
from pyopbench.report.sections import Bullets, Cell, Code, Paragraph, Table

STEPS = 10_000
"""Logs are packed as whole numbers of this part of one: a hundredth of a percent."""
FILTERS = {
    "op": "op",
    "variant": "variant",
    "direction": "direction",
    "mode": "mode",
    "dtype": "dtype",
    "size": "size",
    "placement": "device",
}
"""Fields of series that a reader can filter by, with their titles."""
MOST_VALUES = 40
"""A field with more values has no boxes; the search finds its series."""
SCRIPTS = ("history_filters.js", "tables.js")


@dataclass(frozen=True)
class Figure:
    """A series as the page shows it.

    Attributes:
        anchor: where links to it lead.
        name, note: its heading, and what its values are.
        status: `changed`, or "".
        fields: what it is filtered by.
    """

    anchor: str
    name: str
    note: str
    status: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Choice:
    """What a reader can filter by."""

    field: str
    title: str
    values: tuple[str, ...]


def html(history: History) -> str:
    """Return the page."""
    figures = [_figure(history, number) for number in range(len(history.traced))]
    changed = [one for one in figures if one.status]
    anchors = {one.anchor: one.anchor for one in figures}
    shown = {
        "title": history.title(),
        "span": _span(history),
        "tools": formatting.listing(history.tools),
        "answer": [
            Paragraph(history.summary()),
            *_changes(history),
            Paragraph(history.alarm_text(), "muted"),
        ],
        "remarks": [Bullets(tuple(remark.text() for remark in history.remarks))] if history.remarks else [],
        "commands": _commands(history),
        "figures": [*changed, *(one for one in figures if not one.status)],
        "anchors": anchors,
        "choices": list(_choices(history)),
        "data": _data(history),
        "specs": {measure: series_chart(measure) for measure in ("ratio", "latency")},
    }
    scripts = (page.source("history.js"), page.enclosed(SCRIPTS))
    return page.assembled("history.html.j2", scripts, shown)


def _changes(history: History) -> list[Table]:
    if not history.changes:
        return []
    rows = tuple(_row(history, change) for change in history.changes)
    return [Table(COLUMNS, rows, wording.CHANGES_CAPTION)]


def _row(history: History, change: FoundChange) -> tuple[Cell | str, ...]:
    case, size, place = row_of(history, change)
    return (Cell(case, op=_anchor(change.number)), Cell(size, number=change.ratio), place)


def _commands(history: History) -> list[Paragraph | Code]:
    commands = [one.text() for one in history.reruns()[:MOST_COMMANDS]]
    return [Paragraph(wording.RERUN), Code("\n".join(commands))] if commands else []


def _figure(history: History, number: int) -> Figure:
    series = history.traced[number].series
    changed = any(change.number == number for change in history.changes)
    fields = tuple((name, value) for name, value in series.fields.items() if name in FILTERS)
    name = formatting.shorten(series.name, LONGEST_NAME)
    return Figure(_anchor(number), name, series.measure_text(), "changed" if changed else "", fields)


def _anchor(number: int) -> str:
    return f"series-{number}"


def _choices(history: History) -> Iterator[Choice]:
    """Yield the fields that have several values."""
    for field, title in FILTERS.items():
        values = {one.series.fields[field] for one in history.traced if field in one.series.fields}
        if 1 < len(values) <= MOST_VALUES:
            in_order = sorted(values, key=int) if field == "size" else sorted(values)
            yield Choice(field, title, tuple(in_order))


def _span(history: History) -> str:
    """Return the first and the last moment."""
    first, last = history.moments[0], history.moments[-1]
    return first.label if first == last else f"{first.label} to {last.label}"


def _data(history: History) -> dict[str, Any]:
    """Return the points of all series, packed."""
    return {
        "steps": STEPS,
        "moments": [[one.label, _date(one.date), one.subject] for one in history.moments],
        "series": [_packed(history, number, one) for number, one in enumerate(history.traced)],
    }


def _date(date: str) -> str:
    return formatting.moment(date) if date else ""


def _packed(history: History, number: int, traced: Traced) -> dict[str, Any]:
    """Return a series: logs as whole numbers, and ends of intervals by how far they are off."""
    series = traced.series
    values = _whole(series.values)
    whole: dict[str, Any] = {
        "measure": series.measure,
        "values": values,
        "levels": [
            [int(series.places[one.start]), int(series.places[one.stop - 1]), round(one.mean * STEPS)]
            for one in traced.found.levels
        ],
    }
    if series.places.tolist() != list(range(len(history.moments))):
        whole["places"] = series.places.tolist()
    if np.isfinite(series.lows).any():
        whole["below"], whole["above"] = _whole(series.values - series.lows), _whole(series.highs - series.values)
    launches = sorted(set(series.launches.tolist()))
    whole["launches"] = launches[0] if len(launches) == 1 else series.launches.tolist()
    whole["changes"] = [_told(history, one) for one in history.changes if one.number == number]
    return whole


def _told(history: History, change: FoundChange) -> dict[str, Any]:
    _, size, place = row_of(history, change)
    return {"at": change.place, "direction": change.direction, "told": f"{size}; {place}"}


def _whole(values: npt.NDArray[np.float64]) -> Sequence[int | None]:
    return [round(value * STEPS) if np.isfinite(value) else None for value in values.tolist()]

"""The chart of a series over commits, versions or dates: one spec for all series, whose rows the page puts in.

A row is a point (`y`), a stretch of one level (`level`) or a change (`told`); `x` is a place on the axis.
"""

from __future__ import annotations

from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.judge.comparison.series import Measure
from pyopbench.report.charts.latency import DATA, Spec
from pyopbench.report.charts.style import OUTCOMES, THEME

LABELS = "LABELS"
"""Stands where the page puts the labels of the axis."""
HEIGHT_PIXELS = 190
POINT_COLOUR, LEVEL_COLOUR = "#0077bb", "#808080"
DASHED = [5, 4]
NUMBERS: dict[Measure, str] = {
    "ratio": "format(datum.value, '.4~r')",
    "latency": "format(datum.value, '.4~s') + 's'",
}
TOOLTIP = {
    "label": "at",
    "date": "date",
    "subject": "message",
    "value_text": "value",
    "interval_text": "95% interval",
    "launches": "launches",
}
"""Fields of a point that are told of it -> what they are called."""


@debug_mode(False)
def series_chart(measure: Measure) -> Spec:
    """Return the spec of a chart, with no rows in it.

    Args:
        measure: ratios or seconds; both on a logarithmic axis, so that the same factor has the same height everywhere.
    """
    context: dict[str, Any] = {"top_level": False, "data": alt.NamedData(DATA), "datasets": {}}
    layers = [_changes(), _levels(), _intervals(), _points(measure)]
    return {
        "config": THEME,
        "datasets": {DATA: []},
        "data": {"name": DATA},
        "height": HEIGHT_PIXELS,
        "layer": [layer.to_dict(validate=False, context=context) for layer in layers],
    }


def _chart(told: str) -> alt.Chart:
    """Return a chart of the rows that have a field, named after it: a page leaves out those that no row has."""
    found: alt.Chart = alt.Chart(alt.Undefined).transform_filter(f"isValid(datum.{told})").properties(name=told)
    return found


def _x(field: str = "x") -> alt.X:
    x = alt.X(f"{field}:Q", title=None).scale(zero=False, nice=False, padding=14)
    found: alt.X = x.axis(labelExpr=LABELS, tickMinStep=1, labelAngle=-30, labelOverlap=True, grid=False)
    return found


def _y(field: str, measure: Measure | None = None) -> alt.Y:
    y = alt.Y(f"{field}:Q", title=None).scale(type="log", nice=False, padding=10)
    found: alt.Y = y if measure is None else y.axis(labelExpr=NUMBERS[measure], tickCount=5)
    return found


def _points(measure: Measure) -> alt.Chart:
    told = [alt.Tooltip(f"{field}:N", title=title) for field, title in TOOLTIP.items()]
    is_linked = alt.FieldEqualPredicate(field="linked", equal=True)
    size = alt.SizeValue(**alt.when(is_linked).then(alt.value(170)).otherwise(alt.value(26)))
    colour = alt.ColorValue(**alt.when(is_linked).then(alt.value("#cc3311")).otherwise(alt.value(POINT_COLOUR)))
    found: alt.Chart = _chart("y").mark_point(filled=True, opacity=0.9, cursor="pointer").encode(
        x=_x(), y=_y("y", measure), tooltip=told, size=size, color=colour,
    )  # fmt: skip
    return found


def _intervals() -> alt.Chart:
    found: alt.Chart = _chart("from").mark_rule(strokeWidth=1, opacity=0.45, color=POINT_COLOUR).encode(
        x=_x(), y=_y("from"), y2=alt.Y2("to:Q")
    )  # fmt: skip
    return found


def _levels() -> alt.Chart:
    found: alt.Chart = _chart("level").mark_rule(strokeWidth=2.5, color=LEVEL_COLOUR).encode(
        x=_x("start"), x2=alt.X2("stop:Q"), y=_y("level")
    )  # fmt: skip
    return found


def _changes() -> alt.Chart:
    """Return a rule at each change, in the colour of what became of the time."""
    names = ("slower", "faster")
    colours = [OUTCOMES[name][0] for name in names]
    stroke = alt.Stroke("direction:N", legend=None).scale(domain=list(names), range=colours)
    found: alt.Chart = _chart("told").mark_rule(strokeWidth=2, strokeDash=DASHED).encode(
        x=_x(), stroke=stroke,
        tooltip=[alt.Tooltip("told:N", title="change")],
    )  # fmt: skip
    return found

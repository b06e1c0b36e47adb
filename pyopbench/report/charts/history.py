"""The chart of a series over commits, versions or dates, as a Vega-Lite spec.

A row is a point (`y`), a stretch of one level (`level`) or a change (`direction`); `x` is a place on the axis.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np
from altair.utils.schemapi import debug_mode

from pyopbench.judge.comparison.history import FoundChange, Measure, Moment, Series
from pyopbench.report.charts.picture import DATA, PADDING, WIDTH_PIXELS, Spec
from pyopbench.report.charts.style import THEME

HEIGHT_PIXELS = 190
AXIS_PIXELS = 80
WIDEST_LOG = 2 * math.log(2)
"""A wider interval runs out of the picture, or it would flatten everything else."""
POINT_COLOUR, LEVEL_COLOUR = "#0077bb", "#808080"
DASHED = [5, 4]
NUMBERS: dict[Measure, str] = {
    "ratio": "format(datum.value, '.4~r')",
    "latency": "format(datum.value, '.4~s') + 's'",
}


@debug_mode(False)
def series_chart(series: Series, moments: Sequence[Moment], changes: Sequence[FoundChange]) -> Spec:
    """Return the chart of a series: its points with their intervals, its levels, and a rule at each change.

    Ratios and seconds are both on a logarithmic axis, so that the same factor has the same height everywhere.

    Args:
        series: its points and levels.
        moments: places on the axis.
        changes: those of this series.
    """
    rows = [*_points_of(series), *_levels_of(series)]
    rows += [{"x": one.place - 0.5, "direction": one.direction} for one in changes]
    labels = f"{json.dumps([one.label for one in moments])}[datum.value]"
    layers = {"direction": _changes, "level": _levels, "from": _intervals, "y": _points}
    context: dict[str, Any] = {"top_level": False, "data": alt.NamedData(DATA), "datasets": {}}
    drawn = [layer(labels, series.measure) for field, layer in layers.items() if any(field in row for row in rows)]
    return {
        "config": THEME,
        "padding": PADDING,
        "datasets": {DATA: rows},
        "data": {"name": DATA},
        "height": HEIGHT_PIXELS,
        "width": WIDTH_PIXELS - AXIS_PIXELS,
        "layer": [layer.to_dict(validate=False, context=context) for layer in drawn],
    }


def _points_of(series: Series) -> Iterator[dict[str, Any]]:
    for x, value, low, high in series.points[["place", "value", "low", "high"]].itertuples(index=False, name=None):
        row = {"x": int(x), "y": math.exp(value)}
        if np.isfinite(low) and np.isfinite(high):
            row["from"] = math.exp(max(low, value - WIDEST_LOG))
            row["to"] = math.exp(min(high, value + WIDEST_LOG))
        yield row


def _levels_of(series: Series) -> Iterator[dict[str, Any]]:
    places = series.points["place"].to_numpy()
    for one in series.found.levels:
        ends = {"start": int(places[one.start]) - 0.4, "stop": int(places[one.stop - 1]) + 0.4}
        yield {**ends, "level": math.exp(one.mean)}


def _chart(field: str) -> alt.Chart:
    """Return a chart of the rows that have a field."""
    found: alt.Chart = alt.Chart(alt.Undefined).transform_filter(f"isValid(datum['{field}'])")
    return found


def _x(labels: str, field: str = "x") -> alt.X:
    x = alt.X(f"{field}:Q", title=None).scale(zero=False, nice=False, padding=14)
    found: alt.X = x.axis(labelExpr=labels, tickMinStep=1, labelAngle=-30, labelOverlap=True, grid=False)
    return found


def _y(field: str, measure: Measure) -> alt.Y:
    y = alt.Y(f"{field}:Q", title=None).scale(type="log", nice=False, padding=10)
    found: alt.Y = y.axis(labelExpr=NUMBERS[measure], tickCount=5)
    return found


def _points(labels: str, measure: Measure) -> alt.Chart:
    mark = _chart("y").mark_point(filled=True, opacity=0.9, size=26, color=POINT_COLOUR)
    found: alt.Chart = mark.encode(x=_x(labels), y=_y("y", measure))
    return found


def _intervals(labels: str, measure: Measure) -> alt.Chart:
    mark = _chart("from").mark_rule(strokeWidth=1, opacity=0.45, color=POINT_COLOUR)
    found: alt.Chart = mark.encode(x=_x(labels), y=_y("from", measure), y2=alt.Y2("to:Q"))
    return found


def _levels(labels: str, measure: Measure) -> alt.Chart:
    mark = _chart("level").mark_rule(strokeWidth=2.5, color=LEVEL_COLOUR)
    found: alt.Chart = mark.encode(x=_x(labels, "start"), x2=alt.X2("stop:Q"), y=_y("level", measure))
    return found


def _changes(labels: str, measure: Measure) -> alt.Chart:
    """Return a rule at each change, in the colour of slower or faster."""
    colours = {"slower": "#d95f02", "faster": "#0077bb"}
    stroke = alt.Stroke("direction:N", legend=None).scale(domain=list(colours), range=list(colours.values()))
    mark = _chart("direction").mark_rule(strokeWidth=2, strokeDash=DASHED)
    found: alt.Chart = mark.encode(x=_x(labels), stroke=stroke)
    return found

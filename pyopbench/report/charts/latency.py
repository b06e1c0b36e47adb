"""The chart of time per call against size, as a Vega-Lite spec built by Altair.

Encodings are Altair's channels and never texts or dicts: of those Altair makes channels by comparing the schemas of all
its classes, in more time than all else takes. A channel is made with its scale and its axis: each call of a method that
sets one has Altair work out a signature.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.report.charts.log_axis import Row, drawable, limits, ticks
from pyopbench.report.charts.picture import Frame, Layers, Spec, as_spec
from pyopbench.report.charts.style import Style

HEIGHT_PIXELS = 220
LABEL_PIXELS = 130
ROW_PIXELS = 36  # two lines of text: a label and, under it, its gradient
FRAME, BY_LABEL_FRAME = Frame(axis=70), Frame(axis=150)
PARTS = {alt.Color: "colour", alt.Shape: "shape", alt.StrokeDash: "dash"}
"""Which part of a look each channel shows."""
TITLE = "time per call"
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"
ENDS = {
    "from": f"{HAS_INTERVAL} ? datum.low : datum.seconds",
    "to": f"{HAS_INTERVAL} ? datum.high : datum.seconds",
}
"""Ends of the rule that shows an interval. Where there is none the rule has no length: a filter would give the layers
different data, and the height of a row would be a guess of Vega-Lite's."""


@debug_mode(False)
def latency_chart(rows: Sequence[Row], pinned: Mapping[str, Style], baseline: str, unit: str) -> Spec:
    """Return latency against size, one panel for each `panel`; for an op of one size, latency by label.

    Args:
        rows: `panel`, `label`, `size`, and `seconds`, `low`, `high` per call in seconds (NaN where there is none).
        pinned: the look of every label.
        baseline: the label that is the current callback, whose line is thick.
        unit: what a size counts.
    """
    data = drawable(rows, "seconds")
    if len(_sizes(data)) < 2:
        return as_spec(_dots(data, pinned), data, BY_LABEL_FRAME)
    axis = alt.Axis(values=_sizes(data), format=".3~s", labelOverlap=True)
    x = alt.X("size:Q", title=unit, scale=alt.Scale(type="log", nice=False, padding=12), axis=axis)
    curves, y = _Curves(data, pinned, baseline, x), _seconds(alt.Y, data)
    band = curves.base().transform_filter(HAS_INTERVAL).mark_area(clip=True, opacity=0.18).encode(
        y=alt.Y("low:Q", title=TITLE), y2=alt.Y2("high:Q")
    )  # fmt: skip
    return as_spec(Layers([band, curves.lines(y), curves.points(y)], HEIGHT_PIXELS), data, FRAME)


def _dots(data: Sequence[Row], pinned: Mapping[str, Style]) -> Layers:
    base = alt.Chart(alt.Undefined).encode(y=_by_label(data), color=_pinned(alt.Color, data, pinned, legend=None))
    rule = base.mark_rule(clip=True, strokeWidth=1.5).encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    shape = _pinned(alt.Shape, data, pinned, legend=None)
    point = base.mark_point(filled=True, size=50, opacity=1, clip=True).encode(x=_seconds(alt.X, data), shape=shape)
    return Layers([rule, point], {"step": ROW_PIXELS, "for": "position"}, ENDS)


def _by_label(rows: Sequence[Row]) -> alt.Y:
    """Return an axis with a row for each label, whose gradient is in a line of its own under its variant."""
    two = {label: label.split("+", 1) for label in sorted({row["label"] for row in rows}) if "+" in label}
    # Looked up in a list: an object would have a `constructor` too, which may be the name of an op or a variant.
    place = f"indexof({json.dumps([*two])}, datum.label)"
    two_lines = alt.when(f"{place} >= 0").then(alt.value("bottom")).otherwise(alt.value("middle"))
    axis = alt.Axis(
        labelExpr=f"{place} < 0 ? datum.label : {json.dumps([*two.values()])}[{place}]",
        labelBaseline=two_lines,
        labelLimit=LABEL_PIXELS,
        ticks=False,
        grid=True,
    )
    return alt.Y("label:N", title=None, sort="ascending", axis=axis)


@dataclass(frozen=True)
class _Curves:
    """A line for each label; that of the baseline is thick."""

    rows: Sequence[Row]
    pinned: Mapping[str, Style]
    baseline: str
    x: alt.X

    def base(self) -> alt.Chart:
        return alt.Chart(alt.Undefined).encode(x=self.x, color=_pinned(alt.Color, self.rows, self.pinned))

    def lines(self, y: alt.Y) -> alt.Chart:
        is_baseline = alt.FieldEqualPredicate(field="label", equal=self.baseline)
        found: alt.Chart = self.base().mark_line(clip=True).encode(
            y=y, strokeDash=_pinned(alt.StrokeDash, self.rows, self.pinned),
            strokeWidth=alt.StrokeWidthValue(**alt.when(is_baseline).then(alt.value(3.5)).otherwise(alt.value(1.5))),
        )  # fmt: skip
        return found

    def points(self, y: alt.Y) -> alt.Chart:
        shape = _pinned(alt.Shape, self.rows, self.pinned)
        found: alt.Chart = self.base().mark_point(filled=True, size=36, clip=True).encode(y=y, shape=shape)
        return found


def _pinned(channel: type[Any], rows: Sequence[Row], pinned: Mapping[str, Style], **options: Any) -> Any:
    """Return one of the channels of `PARTS` for the labels of the rows."""
    labels = sorted({row["label"] for row in rows})
    looks = [getattr(pinned[label], PARTS[channel]) for label in labels]
    return channel("label:N", title=None, scale=alt.Scale(domain=labels, range=looks), **options)


def _sizes(rows: Sequence[Row]) -> list[int]:
    return sorted({row["size"] for row in rows})


def _seconds(channel: Any, data: Sequence[Row]) -> Any:
    ends = limits(data, "seconds")
    axis = alt.Axis(labelExpr="format(datum.value, '~s') + 's'", values=ticks(ends))
    return channel("seconds:Q", title=TITLE, scale=alt.Scale(type="log", domain=ends, nice=False), axis=axis)

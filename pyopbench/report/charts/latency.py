"""Charts as Vega-Lite specs, built by Altair: latency against size and by version, and ratios to the baseline.

A spec holds its data, so that it serves the page and, through vl-convert, a still picture. Every name in it is given
here, so that the same rows give the same spec.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.model.label import Label
from pyopbench.report.charts.encodings import (
    PICK,
    PICKED_IN,
    Curves,
    blank,
    by_label,
    picked,
    pinned_to,
    row_step,
    scale_of,
    size_axis,
    sizes_of,
)
from pyopbench.report.charts.log_axis import Row, drawable, limits, ticks
from pyopbench.report.charts.style import INK, OUTCOMES, THEME, Style

Spec: TypeAlias = dict[str, Any]
Panels: TypeAlias = Mapping[str, Mapping[str, str]]
"""Title of a panel -> fields of the cases in it, by which a page filters: any of variant, direction, mode, dtype and
placement."""

DATA = "rows"
PANELS_PER_ROW = 3
LATENCY_PIXELS = 220
LATENCY_FRAME = {"axis": 70, "narrowest": 200}
BY_LABEL_FRAME = {"axis": 150, "narrowest": 200}
"""How a page fits panels to its width, in pixels: what the axis on the left takes, and the narrowest panel."""

SLANT_DEGREES, VERSION_PIXELS = -35, 75
"""How versions are written where more than two stand side by side, and what one may take."""

HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"
FORMATS = {"seconds": "format(datum.{field}, '.4s') + 's'", "ratio": "format(datum.{field}, '.4~r')"}
TITLES = {"seconds": "time per call", "ratio": "ratio"}


@dataclass(frozen=True)
class Scene:
    """What the charts of an op have in common.

    Attributes:
        panels: where each panel holds.
        baseline: the label that is the current callback.
        unit: what a size counts.
    """

    panels: Panels
    baseline: str
    unit: str


@dataclass(frozen=True)
class Layers:
    """What is drawn in each panel.

    Attributes:
        charts: one over the other; where they have no rows of their own, they are of the rows of the panel.
        height: of a panel, in pixels, or `row_step`.
        computed: fields that Vega computes -> formula.
    """

    charts: Sequence[alt.Chart]
    height: int | dict[str, Any]
    computed: Mapping[str, str] = field(default_factory=dict)


@debug_mode(False)
def latency_chart(
    rows: Sequence[Row], pinned: Mapping[str, Style], scene: Scene, crossings: Sequence[Row] = ()
) -> Spec:
    """Return latency against size, one panel for each `panel`; for an op of one size, latency by label.

    Args:
        rows: `panel`, `label`, `size`, and `seconds`, `low`, `high` per call in seconds (NaN where there is none).
        pinned: the look of every label.
        scene: the baseline's line is thick.
        crossings: where the fastest changes: `panel`, `size`, and `told` in words.
    """
    data = drawable(rows, "seconds")
    if len(sizes_of(data)) < 2:
        return as_spec(_latency_dots(data, pinned), data, scene.panels, BY_LABEL_FRAME)
    layers = _latency_lines(Curves(data, pinned, scene.baseline, size_axis(data, scene.unit)), marked=bool(crossings))
    marks = [{"panel": one["panel"], "at": one["size"], "told": one["told"]} for one in crossings]
    return as_spec(layers, [*data, *marks], scene.panels, LATENCY_FRAME)


@debug_mode(False)
def ratio_chart(rows: Sequence[Row], scene: Scene, minimum_effect: float) -> Spec:
    """Return ratios to the baseline with intervals, a line at 1 and a band of the minimum effect.

    Args:
        rows: `panel`, `label`, `size`, `outcome`, and `ratio`, `low`, `high` as plain ratios.
        scene: the baseline is named by the axis.
        minimum_effect: half the width of the band, as a share of one.
    """
    data = drawable(rows, "ratio")
    band = {"ratio": 1.0, "low": 1 / (1 + minimum_effect), "high": 1 + minimum_effect}
    ends = limits([*data, band], "ratio")
    scale, axis = alt.Scale(type="log", domain=ends, nice=False), alt.Axis(format="~r", values=ticks(ends))
    ratio = alt.X("ratio:Q", title=f"time relative to {scene.baseline}", scale=scale, axis=axis)
    colours, shapes = ({name: look[place] for name, look in OUTCOMES.items()} for place in (0, 1))
    colour = alt.Color("outcome:N", title=None, scale=scale_of(colours))
    shape = alt.Shape("outcome:N", title=None, scale=scale_of(shapes))
    base = by_label(data).encode(color=colour)
    point = base.mark_point(filled=True, opacity=1, clip=True).encode(
        x=ratio,
        shape=shape,
        size=_size(data, scene.unit),
        tooltip=_tooltip("ratio"),
    )
    shaded = _constant(band).mark_rect(fill=INK, opacity=0.12).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    one = _constant(band).mark_rule(stroke=INK, opacity=0.7).encode(x=alt.X("ratio:Q"))
    layers = Layers([shaded, one, _interval(base), point], row_step(data), _computed("ratio"))
    return as_spec(layers, data, scene.panels, BY_LABEL_FRAME)


@debug_mode(False)
def version_chart(rows: Sequence[Row], pinned: Mapping[str, Style], scene: Scene, versions: Sequence[str]) -> Spec:
    """Return latency by version of TensorFlow, with the interval of every point; one panel for each `panel`.

    Args:
        rows: `panel`, `label`, `size`, `version`, and `seconds`, `low`, `high` per call in seconds (NaN where there is
            none).
        pinned: the look of every label.
        scene: the baseline's line is thick.
        versions: in the order of the axis.
    """
    data = drawable(rows, "seconds")
    there = {row["version"] for row in data}
    order = [version for version in versions if version in there]
    axis = alt.Axis(labelAngle=SLANT_DEGREES if len(order) > 2 else 0, labelLimit=VERSION_PIXELS)
    x = alt.X("version:N", title="TensorFlow", sort=order, scale=alt.Scale(domain=order), axis=axis)
    curves, y = Curves(data, pinned, scene.baseline, x), _seconds(alt.Y, data)
    rule = curves.base().mark_rule(clip=True, strokeWidth=1.5, opacity=0.5).encode(y=alt.Y("from:Q"), y2=alt.Y2("to:Q"))
    told = [alt.Tooltip("version:N", title="TensorFlow"), *_tooltip("seconds")]
    layers = Layers([rule, curves.lines(y), curves.points(y, told)], LATENCY_PIXELS, _computed("seconds"))
    return as_spec(layers, data, scene.panels, LATENCY_FRAME)


def _latency_lines(curves: Curves, *, marked: bool) -> Layers:
    y = _seconds(alt.Y, curves.rows)
    band = curves.base().transform_filter(HAS_INTERVAL).mark_area(clip=True).encode(
        y=alt.Y("low:Q", title=TITLES["seconds"]), y2=alt.Y2("high:Q"), opacity=picked(0.18, 0.02)
    )  # fmt: skip
    drawn = curves.lines(y), curves.points(y, _tooltip("seconds"))
    if not marked:
        return Layers([band, *drawn], LATENCY_PIXELS, _computed("seconds"))
    rows = [layer.transform_filter("isValid(datum.seconds)") for layer in drawn]  # the others are crossings
    return Layers([_crossing_rule(), band, *rows], LATENCY_PIXELS, _computed("seconds"))


def _crossing_rule() -> alt.Chart:
    told = [alt.Tooltip("told:N", title="crossover")]
    rule: alt.Chart = blank().transform_filter("isValid(datum.at)").mark_rule(stroke=INK, strokeDash=[3, 3]).encode(
        x=alt.X("at:Q"), strokeWidth=alt.StrokeWidthValue(1.5), tooltip=told
    )  # fmt: skip
    return rule


def _latency_dots(data: Sequence[Row], pinned: Mapping[str, Style]) -> Layers:
    shape = pinned_to(alt.Shape, data, pinned, legend=None)
    base = by_label(data).encode(color=pinned_to(alt.Color, data, pinned, legend=None))
    point = base.mark_point(filled=True, size=50, opacity=1, clip=True).encode(
        x=_seconds(alt.X, data), shape=shape, tooltip=_tooltip("seconds")
    )
    return Layers([_interval(base), point], row_step(data), _computed("seconds"))


def _constant(row: Row) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=[dict(row)]))


def _interval(base: alt.Chart) -> alt.Chart:
    rule: alt.Chart = base.mark_rule(clip=True, strokeWidth=1.5).encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    return rule


def _seconds(channel: Any, data: Sequence[Row]) -> Any:
    ends = limits(data, "seconds")
    axis = alt.Axis(labelExpr="format(datum.value, '~s') + 's'", values=ticks(ends))
    scale = alt.Scale(type="log", domain=ends, nice=False)
    return channel("seconds:Q", title=TITLES["seconds"], scale=scale, axis=axis)


def _size(data: Sequence[Row], unit: str) -> Any:
    sizes = sizes_of(data)
    if len(sizes) < 2:
        return alt.SizeValue(50)
    areas = [12 + 88 * place / (len(sizes) - 1) for place in range(len(sizes))]
    legend = alt.Legend(format=".3~s", symbolFillColor=INK, symbolStrokeColor=INK)
    return alt.Size("size:O", title=unit, scale=alt.Scale(domain=sizes, range=areas), legend=legend)


def _tooltip(value: str) -> list[alt.Tooltip]:
    named = [
        alt.Tooltip("label:N", title="variant"),
        alt.Tooltip("panel:N", title="measured"),
        alt.Tooltip("size:Q", format=","),
    ]
    texts = [alt.Tooltip("value_text:N", title=TITLES[value]), alt.Tooltip("interval_text:N", title="95% interval")]
    return [*named, *([alt.Tooltip("outcome:N")] if value == "ratio" else []), *texts]


def _computed(value: str) -> dict[str, str]:
    """Return the fields that Vega computes: texts for tooltips, and the ends of the rule that shows an interval.

    Where there is no interval the rule has no length. A filter instead would give the layers different data, and the
    height of a row would be a guess of Vega-Lite's.
    """
    low, high, middle = (FORMATS[value].format(field=field) for field in ("low", "high", value))
    return {
        "value_text": middle,
        "interval_text": f"{HAS_INTERVAL} ? {low} + ' to ' + {high} : 'none'",
        "from": f"{HAS_INTERVAL} ? datum.low : datum.{value}",
        "to": f"{HAS_INTERVAL} ? datum.high : datum.{value}",
    }


def as_spec(layers: Layers, data: Sequence[Row], panels: Panels, frame: Mapping[str, int]) -> Spec:
    """Return the spec of layers in panels, with their rows under a fixed name and with what a page needs to fit it.

    The layers are put together here and not by Altair's charts of charts, each of which copies all that is in it, which
    took half of the time that a report takes.

    Args:
        layers: what is drawn in each panel.
        data: rows, with `panel` in each, in whose order the panels stand; those that have a `label` get its variant as
            `variant`, to filter by.
        panels: where each panel holds.
        frame: what the axis on the left takes, the narrowest panel, and (`paperRow`) a row on paper if it is lower,
            in pixels.
    """
    # Layers are parts of a chart that has rows; Altair puts the rows that a layer has of its own into `datasets`.
    context: dict[str, Any] = {"top_level": False, "data": alt.NamedData(DATA), "datasets": {}}
    drawn = [layer.to_dict(validate=False, context=context) for layer in layers.charts]
    titles = list(dict.fromkeys(row["panel"] for row in data))
    spec: Spec = {
        "config": THEME,
        "usermeta": {**frame, "panels": {panel: dict(panels.get(panel, {})) for panel in titles}},
        "datasets": {**context["datasets"], DATA: [*map(_with_variant, data)]},
        "data": {"name": DATA},
        "facet": {"field": "panel", "type": "nominal", "title": None, "sort": titles},
        "columns": PANELS_PER_ROW,
        "resolve": {"axis": {"x": "independent"}},  # or upper panels have no axis
        "spec": {"layer": drawn, "height": layers.height},
    }
    if layers.computed:
        spec["transform"] = [{"calculate": formula, "as": name} for name, formula in layers.computed.items()]
    if any(layer.get("name") == PICKED_IN for layer in drawn):
        spec["params"] = [{**PICK.param.to_dict(), "views": [PICKED_IN]}]  # type: ignore[union-attr]  # it has one
    return spec


def _with_variant(row: Row) -> dict[str, Any]:
    return {**row, "variant": Label.parse(row["label"]).variant} if "label" in row else dict(row)

"""Charts as Vega-Lite specs, built by Altair: latency against size and by version, and ratios to the baseline.

A spec holds its data, so that it serves the page and, through vl-convert, a still picture. Every name in it is given
here, so that the same rows give the same spec.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.core.label import Label
from pyopbench.report.charts.encodings import (
    Curves,
    blank,
    by_label,
    picked,
    pinned_to,
    row_step,
    scaled,
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
        baseline: the label that is the callback of today.
        unit: what a size counts.
    """

    panels: Panels
    baseline: str
    unit: str


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
        return _finish(_latency_dots(data, pinned), data, "seconds", (scene.panels, BY_LABEL_FRAME))
    layers = _latency_lines(Curves(data, pinned, scene.baseline, size_axis(data, scene.unit)), marked=bool(crossings))
    marks = [{"panel": one["panel"], "at": one["size"], "told": one["told"]} for one in crossings]
    return _finish(layers, [*data, *marks], "seconds", (scene.panels, LATENCY_FRAME))


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
    ratio = alt.X("ratio:Q", title=f"time relative to {scene.baseline}").scale(type="log", domain=ends, nice=False)
    colour = scaled(alt.Color("outcome:N", title=None), {name: look[0] for name, look in OUTCOMES.items()})
    shape = scaled(alt.Shape("outcome:N", title=None), {name: look[1] for name, look in OUTCOMES.items()})
    base = by_label(data).encode(color=colour)
    point = base.mark_point(filled=True, opacity=1, clip=True).encode(
        x=ratio.axis(format="~r", values=ticks(ends)),
        shape=shape,
        size=_size(data, scene.unit),
        tooltip=_tooltip("ratio"),
    )
    shaded = _constant(band).mark_rect(fill=INK, opacity=0.12).encode(x="low:Q", x2="high:Q")
    one = _constant(band).mark_rule(stroke=INK, opacity=0.7).encode(x="ratio:Q")
    layers = _layer(shaded, one, _interval(base), point, height=row_step(data))
    return _finish(layers, data, "ratio", (scene.panels, BY_LABEL_FRAME))


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
    x = alt.X("version:N", title="TensorFlow", sort=order).scale(domain=order)
    axis = x.axis(labelAngle=SLANT_DEGREES if len(order) > 2 else 0, labelLimit=VERSION_PIXELS)
    curves, y = Curves(data, pinned, scene.baseline, axis), _seconds(alt.Y, data)
    rule = curves.base().mark_rule(clip=True, strokeWidth=1.5, opacity=0.5).encode(y="from:Q", y2="to:Q")
    told = [alt.Tooltip("version:N", title="TensorFlow"), *_tooltip("seconds")]
    layers = _layer(rule, curves.lines(y), curves.points(y, told), height=LATENCY_PIXELS)
    return _finish(layers, data, "seconds", (scene.panels, LATENCY_FRAME))


def _latency_lines(curves: Curves, *, marked: bool) -> alt.LayerChart:
    y = _seconds(alt.Y, curves.rows)
    band = curves.base().transform_filter(HAS_INTERVAL).mark_area(clip=True).encode(
        y=alt.Y("low:Q", title=TITLES["seconds"]), y2="high:Q", opacity=picked(0.18, 0.02)
    )  # fmt: skip
    drawn = curves.lines(y), curves.points(y, _tooltip("seconds"))
    if not marked:
        return _layer(band, *drawn, height=LATENCY_PIXELS)
    rows = [layer.transform_filter("isValid(datum.seconds)") for layer in drawn]  # the others are crossings
    return _layer(_crossing_rule(), band, *rows, height=LATENCY_PIXELS)


def _crossing_rule() -> alt.Chart:
    told = [alt.Tooltip("told:N", title="crossover")]
    rule: alt.Chart = blank().transform_filter("isValid(datum.at)").mark_rule(stroke=INK, strokeDash=[3, 3]).encode(
        x=alt.X("at:Q"), strokeWidth=alt.value(1.5), tooltip=told
    )  # fmt: skip
    return rule


def _latency_dots(data: Sequence[Row], pinned: Mapping[str, Style]) -> alt.LayerChart:
    shape = pinned_to(alt.Shape, data, pinned, legend=None)
    base = by_label(data).encode(color=pinned_to(alt.Color, data, pinned, legend=None))
    point = base.mark_point(filled=True, size=50, opacity=1, clip=True).encode(
        x=_seconds(alt.X, data), shape=shape, tooltip=_tooltip("seconds")
    )
    return _layer(_interval(base), point, height=row_step(data))


def _layer(*layers: alt.Chart, height: Any) -> alt.LayerChart:
    return alt.LayerChart(layer=list(layers), height=height)


def _constant(row: Row) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=[dict(row)]))


def _interval(base: alt.Chart) -> alt.Chart:
    rule: alt.Chart = base.mark_rule(clip=True, strokeWidth=1.5).encode(x="from:Q", x2="to:Q")
    return rule


def _seconds(channel: Any, data: Sequence[Row]) -> Any:
    ends = limits(data, "seconds")
    scaled = channel("seconds:Q", title=TITLES["seconds"]).scale(type="log", domain=ends, nice=False)
    return scaled.axis(labelExpr="format(datum.value, '~s') + 's'", values=ticks(ends))


def _size(data: Sequence[Row], unit: str) -> Any:
    sizes = sizes_of(data)
    if len(sizes) < 2:
        return alt.value(50)
    areas = [12 + 88 * place / (len(sizes) - 1) for place in range(len(sizes))]
    legend = alt.Legend(format=".3~s", symbolFillColor=INK, symbolStrokeColor=INK)
    return alt.Size("size:O", title=unit).scale(domain=sizes, range=areas).legend(legend)


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


def _finish(
    layers: alt.LayerChart, data: list[dict[str, Any]], value: str, frame: tuple[Panels, Mapping[str, int]]
) -> Spec:
    """Return the spec: a panel for each `panel` in the order of the rows."""
    panels = list(dict.fromkeys(row["panel"] for row in data))
    layers.data = alt.NamedData(DATA)
    chart = layers.facet(facet=alt.Facet("panel:N", title=None, sort=panels), columns=PANELS_PER_ROW)
    return as_spec(chart.transform_calculate(**_computed(value)), data, *frame)


def as_spec(chart: alt.FacetChart, data: list[dict[str, Any]], panels: Panels, frame: Mapping[str, int]) -> Spec:
    """Return the spec of a chart in panels with its rows under a fixed name, and with what a page needs to fit it.

    Args:
        chart: in panels by the field `panel`.
        data: rows, with `panel` in each; those that have a `label` get its variant as `variant`, to filter by.
        panels: where each panel holds.
        frame: what the axis on the left takes, and the narrowest panel, in pixels.
    """
    shown = dict.fromkeys(row["panel"] for row in data)
    meta = {**frame, "panels": {panel: dict(panels.get(panel, {})) for panel in shown}}
    chart = chart.resolve_axis(x="independent").properties(usermeta=meta)  # or upper panels have no axis
    spec: Spec = chart.configure(**THEME).to_dict(validate=False)
    spec.pop("$schema", None)  # the page brings its own Vega-Lite, and must not warn about a patch release
    spec.setdefault("datasets", {})[DATA] = [*map(_with_variant, data)]
    return spec


def _with_variant(row: Row) -> dict[str, Any]:
    return {**row, "variant": Label.parse(row["label"]).variant} if "label" in row else dict(row)

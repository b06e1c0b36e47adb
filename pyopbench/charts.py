"""Charts as Vega-Lite specs, built by Altair: latency against size, and ratios to the baseline with their intervals.

A spec holds its data, so that it serves the page and, through vl-convert, a still picture. Text and grid take the colour
`currentColor`: the page sets it for light and dark, and a still picture gets black. The same rows give the same spec.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt

Row: TypeAlias = Mapping[str, Any]
Spec: TypeAlias = dict[str, Any]

COLOURS = (
    "#0077bb", "#d95f02", "#009988", "#e7298a", "#7a6ff0", "#cc3311", "#6b8e23", "#a6761d", "#aa4499", "#808080",
)  # fmt: skip
"""At least 3:1 against white and against the dark page (WCAG 2.2, 1.4.11); shapes tell apart what hues may not."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
OUTCOMES = {
    "faster": ("#0077bb", "circle"),
    "slower": ("#d95f02", "square"),
    "equivalent": ("#808080", "diamond"),
    "unresolved": ("#aa4499", "cross"),
}
PANEL_PIXELS = 260
PANELS_PER_ROW = 3
LATENCY_PIXELS = 220
ROW_PIXELS = 36  # two lines of text: a label and, under it, its gradient
OFFSET_PIXELS = 9
LABEL_PIXELS = 130
LATENCY_FRAME = {"axis": 70, "narrowest": 200}
BY_LABEL_FRAME = {"axis": 150, "narrowest": 200}
"""How a page fits panels to its width, in pixels: what the axis on the left takes, and the narrowest panel."""
WIDEST_SHOWN = 2.0  # a longer arm of an interval runs out of the picture instead of flattening everything else
MOST_TICKS = 6
TICK_STEPS = (
    tuple(step / 20 for step in range(20, 200)),
    tuple(step / 5 for step in range(5, 50)),
    (1, 1.5, 2, 3, 4, 5, 6, 8),
    (1, 2, 5),
    (1, 3),
    (1,),
)
DATA = "rows"


@dataclass(frozen=True)
class Look:
    """How a label is drawn, everywhere."""

    colour: str
    shape: str
    dash: list[int]


def looks(variants: Iterable[str], labels: Iterable[str]) -> dict[str, Look]:
    """Pin a look to each label: the colour goes with the variant, the dash with the gradient, the shape with both.

    Args:
        variants: all variants, measured or not, so that a colour does not depend on what could be measured.
        labels: `variant` or `variant+gradient`.
    """
    ordered = sorted(set(labels))
    hues = sorted({*variants, *(label.partition("+")[0] for label in ordered)})
    dashes: dict[str, int] = {}
    result = {}
    for index, label in enumerate(ordered):
        variant = label.partition("+")[0]
        dashes[variant] = dashes.get(variant, -1) + 1
        colour = COLOURS[hues.index(variant) % len(COLOURS)]
        result[label] = Look(colour, SHAPES[index % len(SHAPES)], DASHES[dashes[variant] % len(DASHES)])
    return result


def latency_chart(rows: Sequence[Row], pinned: Mapping[str, Look], baseline: str, unit: str) -> Spec:
    """Return latency against size, one panel for each `panel`; for an op of one size, latency by label.

    Args:
        rows: `panel`, `label`, `size`, and `seconds`, `low`, `high` per call in seconds (NaN where there is none).
        pinned: the look of every label.
        baseline: the label whose line is thick.
        unit: what a size counts.
    """
    data = _drawable(rows, "seconds")
    sizes = sorted({row["size"] for row in data})
    if len(sizes) < 2:
        return _latency_dots(data, pinned)
    limits = _limits(data, "seconds")
    x = alt.X("size:Q", title=unit).scale(type="log", nice=False, padding=12).axis(values=sizes, format=".3~s", labelOverlap=True)
    pick = alt.selection_point(fields=["label"], bind="legend", name="pick")
    base = _chart().encode(x=x, color=_pinned_colour(data, pinned))
    seconds = alt.Y("seconds:Q", title="time per call").scale(type="log", domain=limits, nice=False).axis(_seconds_axis(limits))
    band = base.transform_filter(_HAS_INTERVAL).mark_area(clip=True, stroke=None).encode(
        y=alt.Y("low:Q", title="time per call"), y2="high:Q",
        opacity=alt.when(pick).then(alt.value(0.18)).otherwise(alt.value(0.02)),
    )  # fmt: skip
    strong = alt.when(pick).then(alt.value(1.0)).otherwise(alt.value(0.12))
    line = base.mark_line(clip=True).encode(
        y=seconds, opacity=strong, strokeDash=_pinned(data, pinned, "dash", alt.StrokeDash),
        strokeWidth=alt.when(alt.FieldEqualPredicate(field="label", equal=baseline)).then(alt.value(3.5)).otherwise(alt.value(1.5)),
    )  # fmt: skip
    point = base.mark_point(filled=True, size=36, clip=True).encode(
        y=seconds, opacity=strong, shape=_pinned(data, pinned, "shape", alt.Shape), tooltip=_tooltip("time")
    )
    point = point.properties(name="points").add_params(pick)  # or Altair makes a name up
    layers = alt.layer(band, line, point).properties(height=LATENCY_PIXELS)
    return _finish(layers, data, LATENCY_FRAME)


def ratio_chart(rows: Sequence[Row], baseline: str, minimum_effect: float, unit: str) -> Spec:
    """Return ratios to the baseline with intervals, a line at 1 and a band of the minimum effect.

    Args:
        rows: `panel`, `label`, `size`, `outcome`, and `ratio`, `low`, `high` as plain ratios.
        baseline: for the title of the axis.
        minimum_effect: half the width of the band, as a share of one.
        unit: what a size counts.
    """
    data = _drawable(rows, "ratio")
    ends = (1 / (1 + minimum_effect), 1 + minimum_effect)
    limits = _limits([*data, {"ratio": 1.0, "low": ends[0], "high": ends[1]}], "ratio")
    ratio = alt.X("ratio:Q", title=f"time relative to {baseline}")
    ratio = ratio.scale(type="log", domain=limits, nice=False).axis(format="~r", values=_ticks(limits))
    base = _by_label(data)
    colour = _outcome_scale(alt.Color, 0)
    rule = base.mark_rule(clip=True, strokeWidth=1.5).encode(x=alt.X("from:Q"), x2="to:Q", color=colour)
    point = base.mark_point(filled=True, opacity=1, clip=True).encode(
        x=ratio, color=colour, shape=_outcome_scale(alt.Shape, 1), tooltip=_tooltip("ratio"), **_by_size(data, unit)
    )
    band = _constant({"low": ends[0], "high": ends[1]}).mark_rect(fill="currentColor", opacity=0.12)
    one = _constant({"one": 1}).mark_rule(stroke="currentColor", opacity=0.7)
    layers = alt.layer(band.encode(x="low:Q", x2="high:Q"), one.encode(x="one:Q"), rule, point)
    return _finish(layers.properties(height=_row_step(data)), data, BY_LABEL_FRAME)


def _latency_dots(data: Sequence[Row], pinned: Mapping[str, Look]) -> Spec:
    limits = _limits(data, "seconds")
    seconds = alt.X("seconds:Q", title="time per call")
    seconds = seconds.scale(type="log", domain=limits, nice=False).axis(_seconds_axis(limits))
    base = _by_label(data).encode(color=_pinned_colour(data, pinned, legend=False))
    rule = base.mark_rule(clip=True, strokeWidth=1.5)
    point = base.mark_point(filled=True, size=50, opacity=1, clip=True).encode(
        x=seconds, shape=_pinned(data, pinned, "shape", alt.Shape, legend=False), tooltip=_tooltip("time")
    )
    layers = alt.layer(rule.encode(x=alt.X("from:Q"), x2="to:Q"), point).properties(height=_row_step(data))
    return _finish(layers, data, BY_LABEL_FRAME)


_HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"
_TEXTS = {
    "time": ("time per call", "format(datum.seconds, '.3s') + 's'", "format(datum.{end}, '.3s') + 's'"),
    "ratio": ("ratio", "format(datum.ratio, '.3~r')", "format(datum.{end}, '.3~r')"),
}


def _chart() -> alt.Chart:
    return alt.Chart(alt.Undefined)


def _constant(row: Row) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=[dict(row)]))


def _by_label(data: Sequence[Row]) -> alt.Chart:
    """Return a chart with a row per label and, within it, a line per size, small sizes on top."""
    two_lines = alt.when("indexof(datum.label, '+') >= 0").then(alt.value("bottom")).otherwise(alt.value("middle"))
    axis = alt.Axis(
        labelExpr="split(datum.label, '+')", labelBaseline=two_lines, labelLimit=LABEL_PIXELS,
        ticks=False, grid=True,
    )  # fmt: skip
    y = alt.Y("label:N", title=None, sort="ascending").axis(axis)
    if len({row["size"] for row in data}) < 2:
        return _chart().encode(y=y)
    return _chart().encode(y=y, yOffset=alt.YOffset("size:O", sort="ascending"))


def _by_size(data: Sequence[Row], unit: str) -> dict[str, Any]:
    sizes = sorted({row["size"] for row in data})
    if len(sizes) < 2:
        return {"size": alt.value(50)}
    areas = [20 + 60 * place / (len(sizes) - 1) for place in range(len(sizes))]
    legend = alt.Legend(format=".3~s", symbolFillColor="currentColor", symbolStrokeColor="currentColor")
    return {"size": alt.Size("size:O", title=unit).scale(domain=sizes, range=areas).legend(legend)}


def _row_step(data: Sequence[Row]) -> alt.Step:
    """Return the height of a label's row, enough for two lines of text and for every size."""
    return alt.Step(max(ROW_PIXELS, OFFSET_PIXELS * len({row["size"] for row in data})), **{"for": "position"})


def _labels(data: Sequence[Row]) -> list[str]:
    return sorted({row["label"] for row in data})


def _pinned(data: Sequence[Row], pinned: Mapping[str, Look], part: str, channel: Any, *, legend: bool = True) -> Any:
    labels = _labels(data)
    encoding = channel("label:N", title=None).scale(
        domain=labels, range=[getattr(pinned[label], part) for label in labels]
    )
    return encoding if legend else encoding.legend(None)


def _pinned_colour(data: Sequence[Row], pinned: Mapping[str, Look], *, legend: bool = True) -> Any:
    return _pinned(data, pinned, "colour", alt.Color, legend=legend)


def _outcome_scale(channel: Any, part: int) -> Any:
    looks_of = [look[part] for look in OUTCOMES.values()]
    return channel("outcome:N", title=None).scale(domain=list(OUTCOMES), range=looks_of)


def _tooltip(value: str) -> list[alt.Tooltip]:
    fields = ("label", "panel", "size", "outcome") if value == "ratio" else ("label", "panel", "size")
    texts = [(f"{value}_text", _TEXTS[value][0]), ("interval_text", "95% interval")]
    return [
        *(alt.Tooltip(f"{field}:{'Q' if field == 'size' else 'N'}", **_exact(field)) for field in fields),
        *(alt.Tooltip(f"{field}:N", title=title) for field, title in texts),
    ]


def _exact(field: str) -> dict[str, str]:
    return {"format": ","} if field == "size" else {}


def _limits(data: Iterable[Row], value: str) -> list[float]:
    """Return the ends of the axis: every value, and its interval up to `WIDEST_SHOWN`."""
    ends = [end for row in data for end in _shown_ends(row, value)]
    low, high = (min(ends), max(ends)) if ends else (1.0, 1.0)
    margin = (high / low) ** 0.05 * 1.02
    return [float(f"{low / margin:.4g}"), float(f"{high * margin:.4g}")]


def _shown_ends(row: Row, value: str) -> list[float]:
    middle, low, high = row[value], row["low"], row["high"]
    return [max(low or middle, middle / WIDEST_SHOWN), min(high or middle, middle * WIDEST_SHOWN)]


def _seconds_axis(limits: Sequence[float]) -> alt.Axis:
    return alt.Axis(labelExpr="format(datum.value, '~s') + 's'", values=_ticks(limits))


def _ticks(limits: Sequence[float]) -> list[float]:
    """Return the densest round values within the limits that a small panel has room for."""
    decades = range(math.floor(math.log10(limits[0])), math.ceil(math.log10(limits[1])) + 1)
    ticks: list[float] = []
    for steps in TICK_STEPS:
        ticks = [float(f"{step}e{decade}") for decade in decades for step in steps]
        ticks = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
        if len(ticks) <= MOST_TICKS:
            break
    return ticks or list(limits)


def _drawable(rows: Sequence[Row], value: str) -> list[dict[str, Any]]:
    """Return the rows that have a value, with five significant digits, and None for what a log axis cannot show."""
    rounded = [{**row, **{field: _five_digits(row[field]) for field in (value, "low", "high")}} for row in rows]
    return [row for row in rounded if row[value] is not None]


def _five_digits(value: float) -> float | None:
    return float(f"{value:.5g}") if math.isfinite(value) and value > 0 else None


def _finish(layers: alt.LayerChart, data: list[dict[str, Any]], frame: Mapping[str, Any]) -> Spec:
    """Return the spec: a panel for each `panel`, texts for tooltips, and the rows under a fixed name."""
    kind, value = ("ratio", "ratio") if "ratio" in data[0] else ("time", "seconds")
    _, text, shown = _TEXTS[kind]
    between = f"{shown.format(end='low')} + ' to ' + {shown.format(end='high')}"
    texts = {f"{kind}_text": text, "interval_text": f"{_HAS_INTERVAL} ? {between} : 'none'"}
    # Marks of one source of data, without the filter of Vega-Lite for each of their own: or a row's height is a guess.
    ends = {name: f"{_HAS_INTERVAL} ? datum.{end} : datum.{value}" for name, end in (("from", "low"), ("to", "high"))}
    panels = list(dict.fromkeys(row["panel"] for row in data))
    layers = layers.properties(data=alt.NamedData(DATA))
    facet = alt.Facet("panel:N", title=None, sort=panels)
    chart = layers.facet(facet=facet, columns=PANELS_PER_ROW).transform_calculate(**texts, **ends)
    chart = chart.resolve_axis(x="independent")  # or panels above others have no axis at all
    spec: Spec = chart.properties(usermeta={**frame, "panels": len(panels)}).configure(**_CONFIG).to_dict()
    spec.pop("$schema", None)  # the page brings its own Vega-Lite, and must not warn about a patch release
    datasets = spec.setdefault("datasets", {})
    datasets[DATA] = data
    return spec


_INK = "currentColor"
_TEXT = {"labelColor": _INK, "titleColor": _INK, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}
_CONFIG: dict[str, Any] = {
    "aria": False,  # the page describes each chart in words and gives its numbers as a table
    "background": "transparent",
    "mark": {"invalid": "show"},
    "font": "system-ui, sans-serif",
    "view": {"stroke": _INK, "strokeOpacity": 0.25, "continuousWidth": PANEL_PIXELS},
    "axis": {
        **_TEXT, "domain": False, "gridColor": _INK, "gridOpacity": 0.13, "tickColor": _INK, "tickOpacity": 0.3,
    },
    "header": {"labelColor": _INK, "labelFontSize": 12, "labelFontWeight": "bold"},
    "legend": {**_TEXT, "orient": "top", "columns": 4, "labelLimit": 300, "symbolStrokeWidth": 2, "symbolOpacity": 1},
}  # fmt: skip

"""The chart of how near calls come to what the machine can do: shares of the bound by size, as a Vega-Lite spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.model import formatting
from pyopbench.report.charts.encodings import Curves, blank, by_label, pinned_to, row_step, size_axis, sizes_of
from pyopbench.report.charts.latency import (
    BY_LABEL_FRAME,
    LATENCY_FRAME,
    LATENCY_PIXELS,
    Layers,
    Scene,
    Spec,
    as_spec,
)
from pyopbench.report.charts.log_axis import Row, limits, ticks
from pyopbench.report.charts.style import INK, Style

LEAST_SHARE = 0.001
"""Below it the digits of a share tell nothing."""
ENDS = (LEAST_SHARE, 1.0)
"""What the axis shows in any case, so that ops can be compared at a glance."""
TITLE = "share of the bound"


@debug_mode(False)
def share_chart(rows: Sequence[Row], pinned: Mapping[str, Style], scene: Scene, overhead_seconds: float) -> Spec:
    """Return shares against size, one panel for each `panel`, with a line at 100%; for one size, shares by label.

    Sizes at which a call costs more than the bound are shaded, for the share tells nothing about the op there, and left
    out if no share reaches `LEAST_SHARE`.

    Args:
        rows: `panel`, `label`, `size`, `share`, `limit` in words, and `seconds` and `bound` per call in seconds.
        pinned: the look of every label.
        scene: the baseline's line is thick.
        overhead_seconds: what a call costs.
    """
    telling = [row for row in rows if row["bound"] >= overhead_seconds]
    sizes = sizes_of([*telling, *(row for row in rows if row["share"] >= LEAST_SHARE)])
    data = [_rounded(row) for row in rows if row["size"] in sizes]
    ends = limits([_without_interval(row["share"]) for row in telling] + list(map(_without_interval, ENDS)), "share")
    curves = Curves(data, pinned, scene.baseline, size_axis(data, scene.unit))
    layers = _lines(curves, ends) if len(sizes) > 1 else _dots(curves, scene.unit, ends)
    frame = LATENCY_FRAME if len(sizes) > 1 else BY_LABEL_FRAME
    return as_spec(layers, [*data, *_shades(data, overhead_seconds)], scene.panels, frame)


def _rounded(row: Row) -> dict[str, Any]:
    return {**row, **{field: float(f"{row[field]:.4g}") for field in ("share", "seconds", "bound")}}


def _without_interval(share: float) -> Row:
    return {"share": share, "low": None, "high": None}


def _shades(data: Sequence[Row], overhead_seconds: float) -> list[dict[str, Any]]:
    """Return for each panel how far up in size a call costs more than the bound."""
    sizes: dict[str, list[int]] = {}
    for row in data:
        if row["bound"] < overhead_seconds:
            sizes.setdefault(row["panel"], []).append(row["size"])
    return [{"panel": panel, "least": min(found), "most": max(found)} for panel, found in sizes.items()]


def _lines(curves: Curves, ends: Sequence[float]) -> Layers:
    y = _axis(alt.Y, ends, TITLE)
    is_share = "isValid(datum.share)"  # the other rows are shades
    drawn = curves.lines(y).transform_filter(is_share), curves.points(y, _tooltip()).transform_filter(is_share)
    shade = blank().transform_filter("isValid(datum.most)").mark_rect(fill=INK, opacity=0.12).encode(
        x=alt.X("least:Q"), x2=alt.X2("most:Q")
    )  # fmt: skip
    return Layers([shade, _whole().encode(y=alt.Y("whole:Q")), *drawn], LATENCY_PIXELS)


def _dots(curves: Curves, unit: str, ends: Sequence[float]) -> Layers:
    data, pinned = curves.rows, curves.pinned
    shape, colour = (pinned_to(channel, data, pinned, legend=None) for channel in (alt.Shape, alt.Color))
    at = "".join(f" at {formatting.sized(size, unit)}" for size in sizes_of(data))
    point = by_label(data).mark_point(filled=True, size=50, opacity=1, clip=True).encode(
        x=_axis(alt.X, ends, TITLE + at), color=colour, shape=shape, tooltip=_tooltip()
    )  # fmt: skip
    return Layers([_whole().encode(x=alt.X("whole:Q")), point], row_step(data))


def _whole() -> alt.Chart:
    rule: alt.Chart = alt.Chart(alt.InlineData(values=[{"whole": 1}])).mark_rule(stroke=INK, strokeDash=[4, 2])
    return rule


def _axis(channel: Any, ends: Sequence[float], title: str) -> Any:
    scaled = channel("share:Q", title=title).scale(type="log", domain=list(ends), nice=False)
    return scaled.axis(format="~%", values=ticks(ends))


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="variant"),
        alt.Tooltip("panel:N", title="measured"),
        alt.Tooltip("size:Q", format=","),
        alt.Tooltip("share:Q", format=".3~p", title=TITLE),
        alt.Tooltip("seconds:Q", format=".3s", title="seconds per call"),
        alt.Tooltip("bound:Q", format=".3s", title="bound, in seconds"),
        alt.Tooltip("limit:N", title="bound by"),
    ]

"""A Vega-Lite spec as a picture that needs no script: SVG that takes its colour from the page around it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import altair as alt
import vl_convert

from pyopbench.report.charts.log_axis import Row
from pyopbench.report.charts.style import THEME

Spec: TypeAlias = dict[str, Any]

DATA = "rows"
WIDTH_PIXELS = 960
PANELS_PER_ROW = 3
WIDEST_PANEL_PIXELS, WIDEST_SINGLE_PIXELS = 520, 640
GAP_PIXELS = 24
PADDING = {"left": 24, "top": 5, "right": 12, "bottom": 5}
"""In pixels: a browser's letters may be wider than those that the picture was laid out with."""
CLIP = re.compile(r'(?<=id=")clip\d+(?=")|(?<=url\(#)clip\d+(?=\))')


@dataclass(frozen=True)
class Frame:
    """What panels need, in pixels: the axis on the left, and the narrowest panel."""

    axis: int
    narrowest: int = 200


@dataclass(frozen=True)
class Layers:
    """What is drawn in each panel.

    Attributes:
        charts: one over the other; where they have no rows of their own, they are of the rows of the panel.
        height: of a panel, in pixels, or a step for each row.
        computed: fields that Vega computes -> formula.
    """

    charts: Sequence[alt.Chart]
    height: int | dict[str, Any]
    computed: Mapping[str, str] = field(default_factory=dict)


def as_spec(layers: Layers, rows: Sequence[Row], frame: Frame) -> Spec:
    """Return the spec of layers in panels, as many side by side as there is room for.

    The layers are put together here and not by Altair's charts of charts, each of which copies all that is in it, which
    took half of the time that a report takes.

    Args:
        layers: what is drawn in each panel.
        rows: the data, with `panel` in each, in whose order the panels are shown.
        frame: what the panels need.
    """
    # Layers are parts of a chart that has rows; Altair puts the rows that a layer has of its own into `datasets`.
    context: dict[str, Any] = {"top_level": False, "data": alt.NamedData(DATA), "datasets": {}}
    drawn = [layer.to_dict(validate=False, context=context) for layer in layers.charts]
    titles = list(dict.fromkeys(row["panel"] for row in rows))
    columns = max(1, min(PANELS_PER_ROW, len(titles), (WIDTH_PIXELS - frame.axis) // frame.narrowest))
    widest = WIDEST_PANEL_PIXELS if columns > 1 else WIDEST_SINGLE_PIXELS
    width = min(widest, (WIDTH_PIXELS - frame.axis) // columns - GAP_PIXELS)
    return {
        "config": THEME,
        "padding": PADDING,
        "datasets": {**context["datasets"], DATA: [dict(row) for row in rows]},
        "data": {"name": DATA},
        "facet": {"field": "panel", "type": "nominal", "title": None, "sort": titles},
        "columns": columns,
        "resolve": {"axis": {"x": "independent"}},  # or upper panels have no axis
        "spec": {"layer": drawn, "height": layers.height, "width": width},
        "transform": [{"calculate": formula, "as": name} for name, formula in layers.computed.items()],
    }


def picture(spec: Mapping[str, Any]) -> str:
    """Return a chart as SVG.

    Vega names what it clips by `clip0`, `clip1`, ..., and counts on from chart to chart of a process. A page of several
    charts would have names twice, and the first would clip all others, so that names are made of what is in the
    picture. The same chart is the same text then, whatever was drawn before.
    """
    svg = str(vl_convert.vegalite_to_svg(dict(spec)))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(CLIP.findall(svg)))}
    counted = CLIP.sub(lambda name: f"clip{numbers[name[0]]}", svg)
    digest = hashlib.sha256(counted.encode()).hexdigest()[:8]
    return CLIP.sub(lambda name: f"clip-{digest}-{numbers[name[0]]}", svg)

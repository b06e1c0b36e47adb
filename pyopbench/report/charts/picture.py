"""A chart as a picture that needs no script: SVG that takes its colour from the page around it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import vl_convert

from pyopbench.report.charts.style import THEME

WIDTH_PIXELS = 900
"""Of the whole chart: what a cell of a notebook has room for."""
WIDEST_PANEL_PIXELS, WIDEST_SINGLE_PIXELS = 520, 640
"""As in `charts.js`."""
PADDING = {"left": 24, "top": 5, "right": 12, "bottom": 5}
"""In pixels: a browser's letters may be wider than those that the picture was laid out with."""
GAP_PIXELS = 24
LEGEND_COLUMN_PIXELS = 210
"""What a name in the legend may take, as in `charts.js`."""
CLIP = re.compile(r'(?<=id=")clip\d+(?=")|(?<=url\(#)clip\d+(?=\))')


def picture(spec: Mapping[str, Any]) -> str:
    """Return a chart as SVG.

    Vega names what it clips by `clip0`, `clip1`, ..., and counts on from chart to chart of a process. Pages made by
    several processes would have names twice, and the first would clip all others, so that names are made of what is in
    the picture. The same chart is the same text then, whatever was drawn before.

    Args:
        spec: of Vega-Lite; one of panels is fitted to the width of the picture, as a page does.
    """
    with_theme = {**spec, "config": {**spec.get("config", {}), **THEME}}
    fitted = _fitted(spec, WIDTH_PIXELS) if "usermeta" in spec else with_theme
    svg = str(vl_convert.vegalite_to_svg({**fitted, "padding": PADDING}))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(CLIP.findall(svg)))}
    counted = CLIP.sub(lambda name: f"clip{numbers[name[0]]}", svg)
    digest = hashlib.sha256(counted.encode()).hexdigest()[:8]
    return CLIP.sub(lambda name: f"clip-{digest}-{numbers[name[0]]}", svg)


def _fitted(spec: Mapping[str, Any], width: int) -> dict[str, Any]:
    """Return a spec of panels with as many side by side as there is room for."""
    axis, narrowest, panels = (spec["usermeta"][name] for name in ("axis", "narrowest", "panels"))
    columns = max(1, min(spec["columns"], len(panels), (width - axis) // narrowest))
    widest = WIDEST_PANEL_PIXELS if columns > 1 else WIDEST_SINGLE_PIXELS
    panel = min(widest, (width - axis) // columns - GAP_PIXELS)
    legend = {**spec["config"]["legend"], "columns": max(1, width // LEGEND_COLUMN_PIXELS)}
    config = {**spec["config"], "legend": legend}
    return {**spec, "config": config, "columns": columns, "spec": {**spec["spec"], "width": panel}}

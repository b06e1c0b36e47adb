"""The chart of where time goes: parts of a call side by side, as shares of what was measured, as a Vega-Lite spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.report.charts.latency import Layers, Panels, Spec, as_spec
from pyopbench.report.charts.style import INK

COLOURS = {
    "dispatch": "#808080",
    "bridge": "#d95f02",
    "bytes in": "#0077bb",
    "bytes out": "#009988",
    "body": "#7a6ff0",
}
"""Of each part, in the order in which they are stacked. Hues that `style.COLOURS` has, for light and dark pages."""

ROW_PIXELS = 22
MOST_TICKS = 4  # what a panel of 160 pixels has room for
FRAME = {"axis": 70, "narrowest": 200}


@debug_mode(False)
def stack_chart(rows: Sequence[Mapping[str, Any]], panels: Panels, unit: str) -> Spec:
    """Return stacked bars of the parts, a row for each size, a panel for each variant, and a line at the total.

    Args:
        rows: `panel`, `size`, `part` (a key of `COLOURS`), `seconds` per call, and `share` of the measured total.
        panels: where each panel holds.
        unit: what a size counts.
    """
    data = [{**row, "place": list(COLOURS).index(row["part"])} for row in rows]
    base = alt.Chart(alt.Undefined).encode(y=alt.Y("size:O", title=unit, sort="ascending").axis(format=",~s"))
    colour = alt.Color("part:N", title=None).scale(domain=list(COLOURS), range=list(COLOURS.values()))
    share = alt.X("share:Q", title="share of the measured time", stack="zero").axis(format="%", tickCount=MOST_TICKS)
    told = [
        alt.Tooltip("panel:N", title="variant"),
        alt.Tooltip("size:Q", format=","),
        alt.Tooltip("part:N"),
        alt.Tooltip("seconds:Q", format=".3s", title="seconds per call"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    bars = base.mark_bar().encode(x=share, color=colour, order=alt.Order("place:Q"), tooltip=told)
    whole = alt.Chart(alt.InlineData(values=[{"whole": 1}]))
    one = whole.mark_rule(stroke=INK, strokeDash=[4, 2]).encode(x=alt.X("whole:Q"))
    return as_spec(Layers([bars, one], {"step": ROW_PIXELS}), data, panels, FRAME)

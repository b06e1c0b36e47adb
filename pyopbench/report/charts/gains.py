"""The chart of the answers: what each op saves, with its interval, as a Vega-Lite spec."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.report.charts.log_axis import Row
from pyopbench.report.charts.picture import Frame, Layers, Spec, as_spec
from pyopbench.report.charts.style import INK

ACTIONS = {"port": "#0077bb", "switch": "#009988", "keep": "#808080", "undecided": "#aa4499"}
"""Colour of each action; hues of `style.COLOURS`, for light and dark pages."""
USES = {"inference": "circle", "training": "diamond"}
ROW_PIXELS = 26
FRAME = Frame(axis=170, narrowest=280)
LEAST_SHOWN = -1.0
"""Where the axis ends: what takes more than twice as long as today runs out of the picture."""
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"


@debug_mode(False)
def gain_chart(rows: Sequence[Row], minimum_effect: float) -> Spec:
    """Return what is saved with intervals, a row for each op, inference above training, and a line at 0.

    Args:
        rows: `panel`, `op`, `use`, `action` (a key of `ACTIONS`), and `saved`, `low`, `high` as shares of
            the current time; nan is no number.
        minimum_effect: half the width of the band around 0, a share of the current time.
    """
    data = [{**row, **{name: _drawable(row[name]) for name in ("saved", "low", "high")}} for row in rows]
    band = {"saved": 0.0, "low": -minimum_effect, "high": minimum_effect}
    known = [row[name] for row in [*data, band] for name in ("saved", "low", "high") if row[name] is not None]
    ends = [max(min(known), LEAST_SHOWN), 1.0]
    x = alt.X("saved:Q", title="share of the callback's time saved, with 95% interval")
    x = x.scale(domain=ends, nice=False).axis(format="%")
    order = list(dict.fromkeys(row["op"] for row in data))
    y = alt.Y("op:N", title=None, sort=order).axis(labelLimit=FRAME.axis - 10, ticks=False, grid=True)
    actions, uses = (list(dict.fromkeys(row[key] for row in data)) for key in ("action", "use"))
    colour = alt.Color("action:N", title=None).scale(domain=actions, range=[ACTIONS[one] for one in actions])
    in_ink = alt.Legend(symbolFillColor=INK, symbolStrokeColor=INK)
    shape = alt.Shape("use:N", title=None, legend=in_ink).scale(domain=uses, range=[USES[one] for one in uses])
    base = alt.Chart(alt.Undefined).encode(y=y, yOffset=alt.YOffset("use:N", sort=list(USES)), color=colour)
    point = base.mark_point(filled=True, size=55, opacity=1, clip=True).encode(x=x, shape=shape)
    rule = base.mark_rule(clip=True, strokeWidth=1.5).encode(x=alt.X("from:Q"), x2=alt.X2("to:Q"))
    fixed = alt.Chart(alt.InlineData(values=[band]))
    shaded = fixed.mark_rect(fill=INK, opacity=0.12).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    one = fixed.mark_rule(stroke=INK, opacity=0.7).encode(x=alt.X("saved:Q"))
    ends_or_point = {
        "from": f"{HAS_INTERVAL} ? datum.low : datum.saved",
        "to": f"{HAS_INTERVAL} ? datum.high : datum.saved",
    }
    layers = Layers([shaded, one, rule, point], {"step": ROW_PIXELS, "for": "position"}, ends_or_point)
    return as_spec(layers, data, FRAME)


def _drawable(value: float) -> float | None:
    """Return a share with four digits; None where there is none."""
    return round(value, 4) if math.isfinite(value) else None

"""The chart of the answers: what each op gains, with its interval, as a Vega-Lite spec."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.report.charts.latency import Layers, Panels, Spec, as_spec
from pyopbench.report.charts.log_axis import Row, drawable, limits, ticks
from pyopbench.report.charts.style import INK

ACTIONS = {"port": "#0077bb", "switch": "#009988", "keep": "#808080", "undecided": "#aa4499"}
"""Colour of each action; hues of `style.COLOURS`, for light and dark pages."""
USES = {"inference": "circle", "training": "diamond"}
ROW_PIXELS = 26
FRAME = {"axis": 170, "narrowest": 280}
INTERVAL = "format(datum.low, '.3~r') + ' to ' + format(datum.high, '.3~r') + '×'"
HAS_INTERVAL = "isValid(datum.low) && isValid(datum.high)"


@debug_mode(False)
def gain_chart(rows: Sequence[Row], panels: Panels, minimum_effect: float) -> Spec:
    """Return gains with intervals, a row for each op, inference above training, and a line at 1.

    Args:
        rows: `panel`, `op`, `use`, `answer`, `action` (a key of `ACTIONS`), and `gain`, `low`, `high` as plain ratios.
        panels: where each panel holds.
        minimum_effect: half the width of the band around 1, as a share of one.
    """
    data = drawable(rows, "gain")
    band = {"gain": 1.0, "low": 1 / (1 + minimum_effect), "high": 1 + minimum_effect}
    ends = limits([*data, band], "gain")
    x = alt.X("gain:Q", title="time today over time afterwards, with its 95% interval")
    x = x.scale(type="log", domain=ends, nice=False).axis(
        values=ticks(ends), labelExpr="format(datum.value, '~r') + '×'"
    )
    order = list(dict.fromkeys(row["op"] for row in data))
    y = alt.Y("op:N", title=None, sort=order).axis(labelLimit=FRAME["axis"] - 10, ticks=False, grid=True)
    actions, uses = (list(dict.fromkeys(row[key] for row in data)) for key in ("action", "use"))
    colour = alt.Color("action:N", title=None).scale(domain=actions, range=[ACTIONS[one] for one in actions])
    in_ink = alt.Legend(symbolFillColor=INK, symbolStrokeColor=INK)
    shape = alt.Shape("use:N", title=None, legend=in_ink).scale(domain=uses, range=[USES[one] for one in uses])
    base = alt.Chart(alt.Undefined).encode(y=y, yOffset=alt.YOffset("use:N", sort=list(USES)), color=colour)
    told = [
        *(alt.Tooltip(f"{name}:N") for name in ("op", "use", "answer")),
        alt.Tooltip("gain_text:N", title="gain"),
        alt.Tooltip("interval_text:N", title="95% interval"),
    ]
    point = base.mark_point(filled=True, size=55, opacity=1, clip=True).encode(x=x, shape=shape, tooltip=told)
    rule = base.mark_rule(clip=True, strokeWidth=1.5).encode(x="from:Q", x2="to:Q")
    fixed = alt.Chart(alt.InlineData(values=[band]))
    shaded = fixed.mark_rect(fill=INK, opacity=0.12).encode(x="low:Q", x2="high:Q")
    one = fixed.mark_rule(stroke=INK, opacity=0.7).encode(x="gain:Q")
    ends_or_point = {
        "gain_text": "format(datum.gain, '.3~r') + '×'",
        "interval_text": f"{HAS_INTERVAL} ? {INTERVAL} : 'none'",
        "from": f"{HAS_INTERVAL} ? datum.low : datum.gain",
        "to": f"{HAS_INTERVAL} ? datum.high : datum.gain",
    }
    layers = Layers([shaded, one, rule, point], {"step": ROW_PIXELS, "for": "position"}, ends_or_point)
    return as_spec(layers, data, panels, FRAME)

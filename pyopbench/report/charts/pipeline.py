"""The chart of an op in an input pipeline: elements a second by arrangement."""

from __future__ import annotations

import math

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.judge.pipeline import PipelineJudgement
from pyopbench.report.charts.picture import Frame, Layers, Spec, as_spec

COLOURS = {
    "keep": "#808080",
    "parallel": "#0077bb",
    "batch": "#33bbee",
    "processes": "#ee7733",
    "port": "#cc3311",
}
"""Colour of each action: the vibrant scheme of P. Tol, which people tell apart who see few colours."""
ROW_PIXELS = 22
RATES_FRAME = Frame(axis=270)
RATES_PANEL = "arrangements"


@debug_mode(False)
def throughput_chart(judgement: PipelineJudgement) -> Spec:
    """Return elements a second of every arrangement with its interval, the quickest on top, on a log axis."""
    rows = [
        {
            "panel": RATES_PANEL,
            "arrangement": one.arrangement.key,
            "action": one.arrangement.action,
            "rate": one.rate,
            "low": 1 / one.high if math.isfinite(one.high) else one.rate,
            "high": 1 / one.low if math.isfinite(one.low) else one.rate,
        }
        for one in judgement.throughputs
    ]
    actions = [name for name in COLOURS if any(row["action"] == name for row in rows)]
    order = [one.arrangement.key for one in judgement.throughputs]
    y = alt.Y("arrangement:N", title=None, sort=order).axis(labelLimit=RATES_FRAME.axis - 10, grid=True)
    colour = alt.Color("action:N", title=None).scale(domain=actions, range=[COLOURS[name] for name in actions])
    base = alt.Chart(alt.Undefined).encode(y=y, color=colour)
    rate = alt.X("rate:Q", title="elements per second, with 95% interval").scale(type="log", nice=False)
    rule = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    point = base.mark_point(filled=True, size=55, opacity=1).encode(x=rate)
    return as_spec(Layers([rule, point], ROW_PIXELS * max(len(rows), 1)), rows, RATES_FRAME)

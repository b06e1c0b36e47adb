"""Charts of an op in an input pipeline: elements a second by arrangement, and what threads and processes bring."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.judge.pipeline import LockShare, PipelineJudgement
from pyopbench.report.charts.encodings import blank
from pyopbench.report.charts.latency import Layers, Spec, as_spec
from pyopbench.report.charts.style import INK

COLOURS = {
    "keep": "#808080",
    "parallel": "#0077bb",
    "switch": "#009988",
    "batch": "#33bbee",
    "processes": "#ee7733",
    "outside": "#aa4499",
    "port": "#cc3311",
}
"""Colour of each action: the vibrant scheme of P. Tol, which people tell apart who see few colours."""
ROW_PIXELS, SCALING_PIXELS = 22, 220
RATES_FRAME, SCALING_FRAME = {"axis": 270, "narrowest": 200}, {"axis": 70, "narrowest": 200}
"""What the axis on the left takes, and the narrowest panel, in pixels."""
RATES_PANEL, SCALING_PANEL = "arrangements", "threads and processes"
LAW, NAMES = "Amdahl's law", ("threads", "processes")
POINTS = 25
"""Of the line that Amdahl's law gives."""


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
    y = alt.Y("arrangement:N", title=None, sort=order).axis(labelLimit=RATES_FRAME["axis"] - 10, grid=True)
    colour = alt.Color("action:N", title=None).scale(domain=actions, range=[COLOURS[name] for name in actions])
    base = blank().encode(y=y, color=colour)
    rate = alt.X("rate:Q", title="elements per second, with 95% interval").scale(type="log", nice=False)
    rule = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    point = base.mark_point(filled=True, size=55, opacity=1).encode(x=rate)
    return as_spec(Layers([rule, point], ROW_PIXELS * max(len(rows), 1)), rows, {}, RATES_FRAME)


@debug_mode(False)
def scaling_chart(lock: LockShare) -> Spec:
    """Return how many times the calls of one thread several give, with the line of Amdahl's law for the share.

    Args:
        lock: a share that is known.
    """
    measured = [
        {"panel": SCALING_PANEL, "workers": many, "speedup": speedup, "what": what}
        for many, *speedups in ((1, 1.0, 1.0), *lock.scaling)
        for what, speedup in zip(NAMES, speedups, strict=True)
    ]
    line = [
        {"panel": SCALING_PANEL, "workers": at, "speedup": lock.speedup(1 + _worth(lock, at)), "what": LAW}
        for at in _steps(lock.many)
    ]
    counts = [1, *(many for many, *_ in lock.scaling)]
    x = alt.X("workers:Q", title="threads or processes").axis(values=counts, format="d")
    y = alt.Y("speedup:Q", title="speed-up over one").scale(domainMin=0)
    colour = alt.Color("what:N", title=None).scale(
        domain=list(NAMES), range=[COLOURS["parallel"], COLOURS["processes"]]
    )
    is_law = alt.datum.what == LAW
    law = blank().transform_filter(is_law).mark_line(stroke=INK, strokeDash=[4, 3]).encode(x=x, y=y)
    points = blank().transform_filter(~is_law).mark_point(filled=True, size=70, opacity=1)
    layers = Layers([law, points.encode(x=x, y=y, color=colour)], SCALING_PIXELS)
    return as_spec(layers, [*line, *measured], {}, SCALING_FRAME)


def _steps(many: int) -> Sequence[float]:
    return [1 + (many - 1) * place / (POINTS - 1) for place in range(POINTS)]


def _worth(lock: LockShare, at: float) -> float:
    """Return what so many workers beyond the first are worth on this machine: straight to what processes brought."""
    return (lock.process_speedup - 1) * (at - 1) / (lock.many - 1)

"""Charts of an op in an input pipeline: elements a second by arrangement, and what threads and processes bring."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from pyopbench.judge.lock_share import LockShare
from pyopbench.judge.pipeline import PipelineJudgement
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
ROW_PIXELS, WIDTH_PIXELS, SCALING_PIXELS = 22, 420, 220
POINTS = 25
"""Of the line that Amdahl's law gives."""


@debug_mode(False)
def throughput_chart(judgement: PipelineJudgement) -> dict[str, Any]:
    """Return elements a second of every arrangement with its interval, the quickest on top, on a log axis."""
    rows = [
        {
            "arrangement": one.arrangement.key,
            "action": one.arrangement.action,
            "rate": one.rate,
            "low": 1 / one.high if math.isfinite(one.high) else one.rate,
            "high": 1 / one.low if math.isfinite(one.low) else one.rate,
        }
        for one in judgement.throughputs
    ]
    actions = [name for name in COLOURS if any(row["action"] == name for row in rows)]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("arrangement:N", title=None, sort=[one.arrangement.key for one in judgement.throughputs]).axis(
            labelLimit=260, grid=True
        ),
        color=alt.Color("action:N", title=None).scale(domain=actions, range=[COLOURS[name] for name in actions]),
    )
    rate = alt.X("rate:Q", title="elements per second, with 95% interval").scale(type="log", nice=False)
    rule = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    point = base.mark_point(filled=True, size=55, opacity=1).encode(x=rate)
    return _as_spec(alt.layer(rule, point), ROW_PIXELS * max(len(rows), 1), WIDTH_PIXELS)


@debug_mode(False)
def scaling_chart(lock: LockShare) -> dict[str, Any]:
    """Return how many times the calls of one thread several give, with the line of Amdahl's law for the share.

    Args:
        lock: a share that is known.
    """
    measured = [
        {"workers": many, "speedup": speedup, "what": what}
        for many, *speedups in ((1, 1.0, 1.0), *lock.scaling)
        for what, speedup in zip(("threads", "processes"), speedups, strict=True)
    ]
    line = [{"workers": at, "speedup": lock.speedup(1 + _worth(lock, at))} for at in _steps(lock.many)]
    counts = [1, *(many for many, *_ in lock.scaling)]
    x = alt.X("workers:Q", title="threads or processes").axis(values=counts, format="d")
    y = alt.Y("speedup:Q", title="speed-up over one").scale(domainMin=0)
    names = ["threads", "processes"]
    colour = alt.Color("what:N", title=None).scale(domain=names, range=[COLOURS["parallel"], COLOURS["processes"]])
    law = alt.Chart(alt.InlineData(values=line)).mark_line(stroke=INK, strokeDash=[4, 3]).encode(x=x, y=y)
    points = alt.Chart(alt.InlineData(values=measured)).mark_point(filled=True, size=70, opacity=1)
    return _as_spec(alt.layer(law, points.encode(x=x, y=y, color=colour)), SCALING_PIXELS, WIDTH_PIXELS)


def _steps(many: int) -> Sequence[float]:
    return [1 + (many - 1) * place / (POINTS - 1) for place in range(POINTS)]


def _worth(lock: LockShare, at: float) -> float:
    """Return what so many workers beyond the first are worth on this machine: straight to what processes brought."""
    return (lock.process_speedup - 1) * (at - 1) / (lock.many - 1)


def _as_spec(chart: alt.LayerChart | alt.FacetChart, height: int, width: int) -> dict[str, Any]:
    spec: dict[str, Any] = chart.properties(height=height, width=width).to_dict(validate=False)
    return spec

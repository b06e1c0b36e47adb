"""The op in an input pipeline: the answer, why, and a row for each arrangement; and the same for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
from altair.utils.schemapi import debug_mode
from msgspec import to_builtins

from pyopbench.judge import pipeline as wording
from pyopbench.judge.decision import finite
from pyopbench.judge.pipeline import PipelineJudgement, Throughput
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.report.charts.log_axis import limits, ticks
from pyopbench.report.charts.picture import Frame, Layers, Spec, as_spec
from pyopbench.report.sections import Block, Bullets, Chart, Paragraph, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

DECISION = "pipeline-decision.json"
"""The file with what `as_data` returns."""
OF_FAILURE = ("status", "reason", "launch")
COLUMNS = ("arrangement", "elements/s", "interval", "times current")
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


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the answer for the pipeline, why, a chart and a table; nothing where the op was in no pipeline."""
    if judgement.pipeline is None:
        return ()
    answer, *others = brief(judgement)
    return (answer, Chart(throughput_chart(judgement.pipeline), wording.THROUGHPUT_ALT), *others)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the answer, a row for each arrangement, the quickest first, why, and what has no number."""
    found = judgement.pipeline
    if found is None:
        return ()
    current = found.rows.current
    size = formatting.sized(current.size, found.rows.size_unit)
    body = formatting.seconds(found.rows.plan.body_seconds)
    place = "alone in tf.data" if found.program is None else f"in {found.program.name}"
    rows = tuple(_row(one, found) for one in found.throughputs)
    left_out = tuple(f"{keys} not measured: {reason}" for keys, reason in _left_out(found))
    return (
        Paragraph(found.answer_text()),
        Table(COLUMNS, rows, f"{current.op} {place} ({size}, {current.dtype}, body alone {body})"),
        Bullets((*filter(None, (judgement.machine.warning_text(),)), *found.sentences(), *left_out)),
    )


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
    ends = limits(rows, "rate")
    x = alt.X("rate:Q", title="elements per second, with 95% interval").axis(values=ticks(ends))
    rate = x.scale(type="log", domain=ends, nice=False)
    rule = base.mark_rule(clip=True, strokeWidth=1.5).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"))
    point = base.mark_point(filled=True, size=55, opacity=1).encode(x=rate)
    return as_spec(Layers([rule, point], ROW_PIXELS * max(len(rows), 1)), rows, RATES_FRAME)


def _row(one: Throughput, judgement: PipelineJudgement) -> tuple[str, ...]:
    mark = "→ " if one is judgement.chosen else ""
    known = math.isfinite(one.low) and math.isfinite(one.high)
    interval = f"{formatting.number(1 / one.high)}–{formatting.number(1 / one.low)}" if known else formatting.MISSING
    return (
        f"{mark}{one.arrangement.key}",
        formatting.number(one.rate),
        interval,
        formatting.ratio(judgement.current.seconds / one.seconds),
    )


def _left_out(judgement: PipelineJudgement) -> list[tuple[str, str]]:
    keys: dict[str, list[str]] = {}
    for one in judgement.rows.failures:
        reason = one.reason if one.status == "unsupported" else f"{one.status}: {one.reason}"
        keys.setdefault(reason, []).append(Case.from_id(one.case).arrangement)
    return [(", ".join(dict.fromkeys(names)), reason) for reason, names in keys.items()]


def as_data(judgement: PipelineJudgement) -> dict[str, Any]:
    """Return what was decided and what it rests on, as plain data; a number that does not exist is null."""
    choice, step = judgement.choice, judgement.step
    gain, chosen = choice.gain, judgement.chosen
    return {
        "action": judgement.action,
        "arrangement": None if chosen is None else chosen.arrangement.key,
        "code": None if chosen is None else chosen.arrangement.code,
        "command": list(judgement.command) or None,
        "gain": None if gain is None else _numbers(*gain.times),
        "loss": finite(choice.loss),
        "as_good": list(choice.as_good),
        "minimum_effect": choice.minimum_effect,
        "program": None if judgement.program is None else to_builtins(judgement.program),
        "step": {
            "elements": step.elements,
            "seconds": step.seconds,
            "input_seconds": _numbers(*judgement.input_seconds),
            "is_hidden": judgement.is_hidden,
        },
        "arrangements": [_as_data(one) for one in judgement.throughputs],
        "left_out": [
            {"key": Case.from_id(one.case).arrangement, **{name: getattr(one, name) for name in OF_FAILURE}}
            for one in judgement.rows.failures
        ],
    }


def _as_data(one: Throughput) -> dict[str, Any]:
    return {
        "key": one.arrangement.key,
        **{name: getattr(one.arrangement, name) for name in ("form", "action", "variant", "batch", "parallel")},
        "seconds_per_element": _numbers(one.seconds, one.low, one.high),
        "launches": one.launches,
        "pool_start_seconds": one.pool_start_seconds,
    }


def _numbers(*values: float) -> list[float | None]:
    return [finite(value) for value in values]

"""How long a call takes, by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.report.charts.latency import latency_chart
from pyopbench.report.charts.style import styles
from pyopbench.report.sections import Block, Chart, Heading, Paragraph, Section
from pyopbench.report.sections._places import (
    Places,
    by_size,
    cost,
    ops_of,
    places_of,
    records,
    unit_of,
)
from pyopbench.stats import costs

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement
    from pyopbench.report.charts.style import Style


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op a chart of latency against size and the same numbers as a table."""
    if judgement.latencies.empty:
        return (Paragraph("Nothing was measured.", "warn"),)
    pinned = styles(judgement.run.catalogue.variants, judgement.latencies["label"])
    places = places_of(judgement)
    intro = Paragraph(
        "Mean time per call over launches, with its 95% interval; lower is faster, both axes are logarithmic. The "
        f"thick line is {judgement.baseline}, the current callback.{_of_nodes(judgement)}"
    )
    return (intro, *(block for op in ops_of(judgement) for block in _op(judgement, op, places, pinned)))


def _of_nodes(judgement: Judgement) -> str:
    measured = (judgement.latencies["mode"] == costs.MODE).any()
    return (
        " In mode node this is the time one op adds to a graph, a difference that noise can make negative; such values "
        "are only in the table."
        if measured
        else ""
    )


def _where(rows: Sequence[Mapping[str, Any]]) -> str:
    return " inside a graph" if all(row["mode"] == costs.MODE for row in rows) else ""


def _op(judgement: Judgement, op: str, places: Places, pinned: Mapping[str, Style]) -> Sequence[Block]:
    rows = places.in_panels(records(judgement, op))
    unit = unit_of(judgement, op)
    drawn = [row for row in rows if not row["too_noisy"]]
    spec = latency_chart([_chart_row(row) for row in drawn], pinned, judgement.baseline, unit)
    caption = f"{op}: time per call{_where(rows)} (95% interval) by {unit}"
    summary = judgement.run.catalogue.op(op).summary
    described = (Paragraph(summary),) if summary else ()
    return (
        Heading(op, of_op=True),
        *described,
        *((Chart(spec, _alt(op, drawn, unit)),) if drawn else ()),
        by_size(rows, places, cost, caption),
    )


def _chart_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: row[key] for key in ("panel", "label", "size", "seconds", "low", "high")}


def _alt(op: str, rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    """Say what the chart shows, and its end points where sizes are largest."""
    labels = {row["label"] for row in rows}
    panel, largest = rows[0]["panel"], max(row["size"] for row in rows if row["panel"] == rows[0]["panel"])
    there = [row for row in rows if row["panel"] == panel and row["size"] == largest]
    fastest, slowest = (end(there, key=lambda row: row["seconds"]) for end in (min, max))
    return (
        f"Time per call of {op} for {formatting.count(len(labels), 'variant')}. {panel.capitalize()} at "
        f"{formatting.sized(largest, unit)}: {fastest['label']} is fastest with "
        f"{formatting.seconds(fastest['seconds'])}, "
        f"{slowest['label']} slowest with {formatting.seconds(slowest['seconds'])}."
    )


SECTION = Section("latency", "Time per call", 20, build)

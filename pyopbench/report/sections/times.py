"""How long a call takes by size, its ratio to the current callback, and the errors of values and gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.report.charts.latency import latency_chart
from pyopbench.report.charts.style import Style, styles
from pyopbench.report.sections import Block, Cell, Chart, Heading, Paragraph, Table, Tone
from pyopbench.report.sections.places import Places, by_size, is_per_call, places_of, unit_of
from pyopbench.stats import costs

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

TONES: dict[str, Tone] = {"faster": "good", "slower": "bad", "equivalent": "", "unresolved": "warn"}
DRAWN = ("panel", "label", "size", "seconds", "low", "high")
ERRORS = {"values": "values", "gradient": "gradient", "finite_difference": "against finite differences"}
"""Key of `Run.checked` -> the heading of its column."""
ABOUT_ERRORS = (
    "Every variant with a number was checked: its values against NumPy, its gradient against a reference gradient and, "
    "at a small size, against finite differences. The largest error over the sizes is shown, relative to the largest "
    "expected magnitude. A variant with a larger error than the op allows is reported as wrong and never timed. Where "
    "a function is too rough or too noisy for finite differences, the last column is empty."
)
ABOUT_NODES = (
    " In mode node this is the cost of one op inside a graph: the time of a graph with several copies (one of a "
    "callback) minus that of an empty one, per copy. Noise can make it negative; such values are only in the table."
)


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op a chart of latency against size, the same numbers as a table, ratios and errors."""
    if judgement.latencies.empty:  # of a pipeline nothing is measured outside of it
        return (Paragraph("Nothing was measured.", "warn"),) if judgement.run.pipeline is None else ()
    pinned = styles(judgement.run.catalogue.variants, judgement.latencies["label"])
    places = places_of(judgement)
    ratios: dict[str, list[dict[str, Any]]] = {}
    for row in _ratios(judgement):
        ratios.setdefault(row["op"], []).append(row)
    blocks: list[Block] = []
    for op, rows in judgement.rows_by_op.items():
        summary = judgement.run.catalogue.op(op).summary
        blocks += [Heading(op), *([Paragraph(summary)] if summary else []), *_times(judgement, op, places, pinned)]
        blocks += _ratio_tables(judgement, op, ratios.get(op, []), places)
        blocks += _errors(judgement, op, rows, places)
    return (*_guide(judgement), *blocks)


def _guide(judgement: Judgement) -> list[Block]:
    nodes = ABOUT_NODES if (judgement.latencies["mode"] == costs.MODE).any() else ""
    how = "paired within launches" if judgement.run.tool == "pyopbench" else "each timed on its own"
    effect = formatting.percent(judgement.minimum_effect)
    about_times = (
        "Mean time per call over launches, with its 95% interval; lower is faster, both axes are logarithmic. The "
        f"thick line is {judgement.baseline}, the current callback.{nodes}"
    )
    about_ratios = (
        f"Ratios are relative to {judgement.baseline}, {how}, with their 95% interval; below 1 is faster. Differences "
        f"within ±{effect} are too small to matter. A verdict is unresolved if its interval, corrected for "
        "all verdicts of the same op and use, crosses that limit."
    )
    has_times = judgement.latencies["mode"].map(is_per_call).any()
    texts = [*([about_times] if has_times else []), about_ratios, *([ABOUT_ERRORS] if judgement.run.checked else [])]
    return [Paragraph(text) for text in texts]


def _times(judgement: Judgement, op: str, places: Places, pinned: Mapping[str, Style]) -> list[Block]:
    rows = [row for row in places.in_panels(judgement.rows_by_op[op]) if is_per_call(row["mode"])]
    if not rows:  # the section on threads has what there is
        return []
    unit = unit_of(judgement, op)
    drawn = [row for row in rows if not row["too_noisy"] and row["seconds"] > 0]
    inside = " inside a graph" if all(row["mode"] == costs.MODE for row in rows) else ""
    table = by_size(rows, places, _seconds, f"{op}: time per call{inside} (95% interval) by {unit}")
    if not drawn:
        return [table]
    points = [{key: row[key] for key in DRAWN} for row in drawn]
    return [Chart(latency_chart(points, pinned, judgement.baseline, unit), _alt(op, drawn, unit)), table]


def _seconds(row: Mapping[str, Any]) -> Cell | str:
    if row["too_noisy"]:
        return Cell(formatting.TOO_NOISY, "muted")
    return formatting.seconds_interval(row["seconds"], row["low"], row["high"])


def _alt(op: str, rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    """Say what the chart shows, and its end points where sizes are largest."""
    panel = rows[0]["panel"]
    largest = max(row["size"] for row in rows if row["panel"] == panel)
    there = [row for row in rows if row["panel"] == panel and row["size"] == largest]
    fastest, slowest = (end(there, key=lambda row: row["seconds"]) for end in (min, max))
    return (
        f"Time per call of {op} for {formatting.count(len({row['label'] for row in rows}), 'variant')}. "
        f"{panel.capitalize()} at {formatting.sized(largest, unit)}: {fastest['label']} is fastest with "
        f"{formatting.seconds(fastest['seconds'])}, {slowest['label']} slowest with "
        f"{formatting.seconds(slowest['seconds'])}."
    )


def _ratios(judgement: Judgement) -> list[dict[str, Any]]:
    labels = dict(zip(judgement.latencies["case"], judgement.latencies["label"], strict=True))
    verdicts = ((one, Case.from_id(one.case)) for one in judgement.verdicts)
    return [{**vars(case), **vars(one), "label": labels.get(one.case, case.variant)} for one, case in verdicts]


def _ratio_tables(judgement: Judgement, op: str, rows: Sequence[dict[str, Any]], places: Places) -> list[Block]:
    if not rows:
        return [Paragraph(f"Nothing could be compared with {judgement.baseline}.", "warn")]
    counts = Counter(row["outcome"] for row in rows)
    listed = formatting.listing([f"{counts[outcome]} {outcome}" for outcome in TONES if counts[outcome]])
    caption = f"{op}: time relative to {judgement.baseline} (95% interval) and verdict, by {unit_of(judgement, op)}"
    return [
        Paragraph(f"{formatting.count(len(rows), 'verdict')}: {listed}."),
        by_size(rows, places, _ratio, caption),
    ]


def _ratio(row: Mapping[str, Any]) -> Cell:
    shown = f"{formatting.ratio_interval(row['ratio'], row['low'], row['high'])} {row['outcome']}"
    return Cell(shown, TONES[row["outcome"]])


def _errors(judgement: Judgement, op: str, rows: Sequence[Mapping[str, Any]], places: Places) -> list[Block]:
    largest: dict[tuple[str, ...], dict[str, float]] = {}
    for row in rows:
        errors = judgement.run.checked.get(str(row["case"]))
        if errors is not None:
            head = (formatting.direction(row["direction"]), *places.of(row), row["label"])
            known = largest.setdefault(head, {})
            known.update({name: max(error, known.get(name, 0.0)) for name, error in errors.items()})
    cells = tuple((*head, *(_error(errors.get(name)) for name in ERRORS)) for head, errors in largest.items())
    columns = ("direction", *places.varying, "variant", *ERRORS.values())
    caption = f"{op}: largest errors, relative to the largest magnitude"
    return [Table(columns, cells, caption, folded=True, headings=2 + len(places.varying))] if cells else []


def _error(error: float | None) -> str:
    return formatting.MISSING if error is None else "equal" if error == 0 else f"{error:.1e}"

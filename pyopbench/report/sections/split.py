"""Where the time of a callback goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pyopbench.judge.cost_components import CLOSE, PARTS, Split
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.report.charts.cost_split import stack_chart
from pyopbench.report.sections import Block, Cell, Chart, Heading, Paragraph, Section, Table, _cells
from pyopbench.report.sections._places import Places, places_of, unit_of

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

Rows: TypeAlias = tuple[tuple[Cell | str, ...], ...]
TITLES = tuple(part.replace("_", " ") for part in PARTS)
COLUMNS = ("measured", *TITLES, "predicted", "remainder")


def build(judgement: Judgement) -> Sequence[Block]:
    """Return how well the parts predict the total, and for each op a chart and a table of them."""
    found = judgement.splits
    if not found:
        return (Paragraph("The cost components were not measured in this run (--parts)."),)
    by_op: dict[str, list[Split]] = {}
    for split in found:
        by_op.setdefault(Case.from_id(split.case).op, []).append(split)
    places = places_of(judgement)
    blocks = [
        block
        for op, splits in by_op.items()
        for block in (*_op(places, op, splits, unit_of(judgement, op)), *_body_shares(judgement, op, places))
    ]
    return (_intro(), _verdict(found), *_unexplained(places, found), *blocks)


def _intro() -> Paragraph:
    return Paragraph(
        "The cost components of a forward call. Dispatch: calling an empty tf.function. Bridge: what a callback adds "
        "for one element. Bytes in, bytes out: what many elements add on the way to Python and back. Body: the Python "
        "function alone. Each was measured separately, so their sum is a prediction; the dashed line at 100% is the "
        "measured time."
    )


def _verdict(found: Sequence[Split]) -> Paragraph:
    told = [split for split in found if split.predicted is not None]
    good = sum(split.is_explained for split in told)
    rest = len(found) - len(told)
    missing = f" For {formatting.count(rest, 'more case')} a cost component has no number." if rest else ""
    return Paragraph(
        f"The components predict the measured total within {formatting.percent(CLOSE)} in {good} of "
        f"{formatting.count(len(told), 'case')}.{missing}"
    )


def _unexplained(places: Places, found: Sequence[Split]) -> Sequence[Block]:
    """Return tables of the cases that are predicted badly, the worst first, and of those that are not at all."""
    off = [split for split in found if split.predicted is not None and not split.is_explained]
    off.sort(key=lambda split: -abs(_share(split)))
    head = ("op", *_head_columns(places))
    blocks: list[Block] = []
    if off:
        rows: Rows = tuple((Case.from_id(split.case).op, *_head(places, split), *_off_by(split)) for split in off)
        columns = (*head, "measured", "predicted", "remainder", "share of measured")
        blocks.append(Table(columns, rows, "Cases that the components do not predict", folded=True, headings=len(head)))
    if dark := [(split, split.reason) for split in found if split.reason is not None]:
        lines: Rows = tuple((Case.from_id(one.case).op, *_head(places, one), reason.text()) for one, reason in dark)
        blocks.append(Table((*head, "why"), lines, "Cases without a prediction", folded=True, headings=len(head)))
    return blocks


def _off_by(split: Split) -> tuple[Cell, ...]:
    amounts = (split.total, split.predicted, split.remainder)
    return (*map(_cells.seconds, amounts), _cells.percent(_share(split)))


def _share(split: Split) -> float:
    return (split.remainder or 0.0) / split.total


def _op(places: Places, op: str, splits: Sequence[Split], unit: str) -> Sequence[Block]:
    head = _head_columns(places)
    rows = tuple((*_head(places, split), *_amounts(split)) for split in splits)
    table = Table(
        (*head, *COLUMNS), rows, f"{op}: time per call by cost component, by {unit}", folded=True, headings=len(head)
    )
    drawn = [row for split in splits for row in _bars(places, split)]
    panels = {row["panel"]: row.pop("fields") for row in drawn}
    return (
        Heading(op, of_op=True),
        *((Chart(stack_chart(drawn, panels, unit), _alt(op, splits)),) if drawn else ()),
        table,
    )


def _body_shares(judgement: Judgement, op: str, places: Places) -> Sequence[Block]:
    """Return what no other callback around the same body can gain, where the body takes most of the time."""
    return tuple(
        Paragraph(f"{': '.join((*places.of(vars(share)), share.text()))}.")
        for share in judgement.body_shares
        if share.op == op and share.is_bound
    )


def _amounts(split: Split) -> tuple[Cell, ...]:
    seconds = (split.total, *split.parts.values(), split.predicted, split.remainder)
    return tuple(map(_cells.seconds, seconds))


def _bars(places: Places, split: Split) -> list[dict[str, Any]]:
    case = Case.from_id(split.case)
    panel = " · ".join((case.variant, *places.of(_fields(case))))
    fields = {"variant": case.variant, "direction": case.direction, **_fields(case)}
    return [
        {
            "panel": panel,
            "fields": fields,
            "size": case.size,
            "part": title,
            "seconds": seconds,
            "share": seconds / split.total,
        }
        for title, seconds in zip(TITLES, split.parts.values(), strict=True)
        if seconds is not None
    ]


def _head_columns(places: Places) -> tuple[str, ...]:
    return ("variant", *places.varying, "size")


def _head(places: Places, split: Split) -> tuple[Cell, ...]:
    case = Case.from_id(split.case)
    return (_cells.variant(case.variant), *places.cells(_fields(case)), _cells.size(case.size))


def _fields(case: Case) -> Mapping[str, str]:
    return {"mode": case.mode, "dtype": case.dtype, "placement": case.placement}


def _alt(op: str, splits: Sequence[Split]) -> str:
    """Say what the chart shows, and the largest part at either end of the sizes."""
    told = sorted((split for split in splits if split.predicted), key=lambda split: Case.from_id(split.case).size)
    ends = (told[0], told[-1])
    largest = [max(TITLES, key=dict(zip(TITLES, end.parts.values(), strict=True)).__getitem__) for end in ends]  # type: ignore[arg-type]
    cases = [Case.from_id(end.case) for end in ends]
    return (
        f"Cost components of a call of {op} as shares of the measured time. The largest is {largest[0]} for "
        f"{cases[0].variant} at {formatting.size(cases[0].size)}, {largest[1]} for {cases[1].variant} at "
        f"{formatting.size(cases[1].size)}."
    )


SECTION = Section("split", "Where the time goes", 37, build)

"""What one more op costs inside a graph, and what a call costs beside it; only where mode node was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyopbench.report.sections import Block, Cell, Heading, Paragraph, Section, Table, _cells
from pyopbench.report.sections._places import Places, ops_of, places_of, records, unit_of
from pyopbench.report.wording.holes import flat_text
from pyopbench.stats import estimate, slopes

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement

MEANING = (
    "In mode node one graph holds the op k times, one copy after another, and is timed for several k: the slope over k "
    "is what one more such op costs inside a graph, and the intercept is what a call of the graph costs beside its "
    "copies. These graphs run without Grappler, which would drop or fold most copies, so that the costs are those of "
    "the ops as they are written. Each number is the mean over launches with its 95% interval."
)


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op a table of slopes and intercepts, or nothing where no case of mode node was measured."""
    rows = [row for op in ops_of(judgement) for row in records(judgement, op) if row["mode"] == slopes.MODE]
    if not rows:
        return ()
    found = {str(case): lines for case, lines in slopes.lines(judgement.run.frame, estimate.UNIT).groupby("case")}
    places = Places(tuple(field for field in places_of(judgement).varying if field != "mode"))
    columns = ("direction", *places.varying, "variant", "size", "per copy", "call overhead", "copies", "note")
    flat = slopes.without_slope(judgement.run.frame, estimate.UNIT)
    notes = {case: flat_text(counts) for case, counts in flat.items()}
    blocks: list[Block] = []
    for op in dict.fromkeys(row["op"] for row in rows):
        lines = tuple(
            (*_row(judgement, row, found[row["case"]], places), Cell(notes.get(row["case"], ""), "warn"))
            for row in rows
            if row["op"] == op
        )
        caption = f"{op}: cost of one more op inside a graph"
        blocks += [
            Heading(op, of_op=True),
            Table(columns, lines, caption, folded=True, headings=3 + len(places.varying)),
        ]
    return (Paragraph(MEANING), *blocks)


def _row(judgement: Judgement, row: Mapping[str, Any], found: pd.DataFrame, places: Places) -> tuple[Cell | str, ...]:
    overhead = estimate.Estimate.of(found["intercept"].dropna())
    copies = sorted({number for numbers in found["copies"] for number in numbers})
    return (
        _cells.direction(row["direction"]),
        *places.cells(row),
        _cells.variant(row["label"]),
        _cells.sized(row["size"], unit_of(judgement, row["op"])),
        _cells.seconds_interval(row["seconds"], row["low"], row["high"]),
        _cells.seconds_interval(overhead.mean, *overhead.interval()),
        ", ".join(str(number) for number in copies),
    )


SECTION = Section("nodes", "Inside a graph", 25, build)

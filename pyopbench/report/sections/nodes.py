"""What an op costs inside a graph: the first in a step and each further one; only where mode node was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Heading, Paragraph, Section, Table
from pyopbench.report.sections._places import Places, cost, ops_of, places_of, records, seconds_or_noise, unit_of
from pyopbench.stats import costs, estimate, node_graphs
from pyopbench.stats.node_graphs import Surcharge, surcharges

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

MEANING = (
    "The cost of one op inside a graph: the time of a graph with several copies less that of an empty function, per "
    "copy; the mean over launches with its 95% interval. The first callback of a step wakes up its threads and costs "
    "more than the following ones, so both are shown; a callback between other ops costs up to as much as the first. "
    "Grappler is off, because it would remove copies, and the executed graph was checked for all of them."
)
SLOPE = "slope"


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op a table of costs inside a graph, or nothing where no case of mode node was measured."""
    rows = [row for op in ops_of(judgement) for row in records(judgement, op) if row["mode"] == costs.MODE]
    if not rows:
        return ()
    frame = judgement.run.frame
    found = surcharges(frame, estimate.UNIT)
    lines = {str(case): found for case, found in node_graphs.lines(frame, estimate.UNIT).groupby("case")}
    places = Places(tuple(field for field in places_of(judgement).varying if field != "mode"))
    columns = ("direction", *places.varying, "variant", "size", "one op", "the first", "each further", "copies", SLOPE)
    blocks: list[Block] = []
    for op in dict.fromkeys(row["op"] for row in rows):
        mine = [row for row in rows if row["op"] == op]
        cells = tuple(_row(judgement, row, found.get(row["case"]), lines[row["case"]], places) for row in mine)
        table = Table(columns, cells, f"{op}: cost inside a graph", folded=True, headings=3 + len(places.varying))
        blocks += [Heading(op, of_op=True), table]
    return (Paragraph(MEANING), *blocks)


def _row(
    judgement: Judgement, row: Mapping[str, Any], surcharge: Surcharge | None, lines: pd.DataFrame, places: Places
) -> tuple[Cell | str, ...]:
    copies = sorted({int(number) for numbers in lines["copies"] for number in numbers})
    is_line = len(copies) >= node_graphs.LEAST_POINTS
    slope = estimate.Estimate.of(lines["slope"].dropna()) if is_line else None
    return (
        formatting.direction(row["direction"]),
        *places.of(row),
        row["label"],
        formatting.sized(row["size"], unit_of(judgement, row["op"])),
        cost(row),
        formatting.MISSING if surcharge is None else _first(surcharge),
        formatting.MISSING if surcharge is None else _further(surcharge),
        ", ".join(str(number) for number in copies),
        formatting.MISSING if slope is None else _slope(slope, row),
    )


def _first(surcharge: Surcharge) -> Cell | str:
    return seconds_or_noise(surcharge.first, None, None, too_noisy=surcharge.first_too_noisy)


def _slope(slope: estimate.Estimate, row: Mapping[str, Any]) -> Cell | str:
    today = 0.0 if row["too_noisy"] else row["seconds"]
    return seconds_or_noise(slope.mean, *slope.interval(), too_noisy=slope.is_too_noisy(today))


def _further(surcharge: Surcharge) -> Cell | str:
    ends = (surcharge.low, surcharge.high)
    return seconds_or_noise(surcharge.further, *ends, too_noisy=surcharge.further_too_noisy)


SECTION = Section("nodes", "Inside a graph", 25, build)

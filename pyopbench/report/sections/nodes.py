"""What an op costs inside a graph; only where mode node was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Heading, Paragraph, Section, Table
from pyopbench.report.sections._places import Places, cost, ops_of, places_of, records, unit_of
from pyopbench.stats import costs

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

MEANING = (
    "The cost of one op inside a graph: the time of a graph with several copies less that of an empty function, per "
    "copy; the mean over launches with its 95% interval. A callback has a graph of one copy: the first callback of a "
    "step wakes up its threads and costs more than those right after it, and in a real step other ops lie in between. "
    "Grappler is off, because it would remove copies, and the executed graph was checked for all of them."
)


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op a table of costs inside a graph, or nothing where no case of mode node was measured."""
    rows = [row for op in ops_of(judgement) for row in records(judgement, op) if row["mode"] == costs.MODE]
    if not rows:
        return ()
    copies = judgement.run.frame.groupby("case", observed=True)["copies"].unique()
    places = Places(tuple(field for field in places_of(judgement).varying if field != "mode"))
    columns = ("direction", *places.varying, "variant", "size", "one op", "copies")
    blocks: list[Block] = []
    for op in dict.fromkeys(row["op"] for row in rows):
        mine = [row for row in rows if row["op"] == op]
        cells = tuple(_row(judgement, row, copies[row["case"]], places) for row in mine)
        table = Table(columns, cells, f"{op}: cost inside a graph", folded=True, headings=3 + len(places.varying))
        blocks += [Heading(op, of_op=True), table]
    return (Paragraph(MEANING), *blocks)


def _row(
    judgement: Judgement, row: Mapping[str, Any], copies: Iterable[float], places: Places
) -> tuple[Cell | str, ...]:
    return (
        formatting.direction(row["direction"]),
        *places.of(row),
        row["label"],
        formatting.sized(row["size"], unit_of(judgement, row["op"])),
        cost(row),
        ", ".join(str(int(number)) for number in sorted(copies)),
    )


SECTION = Section("nodes", "Inside a graph", 25, build)

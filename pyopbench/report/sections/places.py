"""Where a number holds: panels of charts and rows of tables, with mode, dtype and placement only where they vary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.model.case import DIRECTIONS, THREADS
from pyopbench.report.sections import Cell, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

FIELDS = ("mode", "dtype", "placement")


@dataclass(frozen=True)
class Places:
    """The fields of `FIELDS` that have more than one value; the others go without saying."""

    varying: tuple[str, ...]

    def of(self, row: Mapping[str, Any] | Any) -> tuple[str, ...]:
        """Return the values of the varying fields of a mapping or an object."""
        values = row if isinstance(row, Mapping) else vars(row)
        return tuple(str(values[field]) for field in self.varying)

    def in_panels(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows with their `panel`, sorted so that the directions of one place are side by side."""
        ordered = sorted(rows, key=lambda row: (self.of(row), _rank(row), row["label"], row["size"]))
        return [
            {**row, "panel": " · ".join((formatting.direction(row["direction"]), *self.of(row)))} for row in ordered
        ]


def places_of(*judged: Any) -> Places:
    """Return which of mode, dtype and placement vary over the latencies and decisions of what was judged."""
    values = {
        field: {
            *(value for one in judged for value in one.latencies[field]),
            *(getattr(decision, field) for one in judged for decision in one.decisions),
        }
        for field in FIELDS
    }
    return Places(tuple(field for field in FIELDS if len(values[field]) > 1))


def is_per_call(mode: str) -> bool:
    """Is a number in this mode the time of a call? Of several threads at once it is one over the calls per second."""
    return not mode.startswith(f"{THREADS}:")


def unit_of(judgement: Judgement, op: str) -> str:
    """Return what a size of the op counts."""
    return judgement.run.catalogue.op(op).size_unit


def by_size(
    rows: Iterable[Mapping[str, Any]], places: Places, show: Callable[[Mapping[str, Any]], Cell | str], caption: str
) -> Table:
    """Return a folded table with a row per direction, place and label, and a column per size."""
    rows = sorted(rows, key=lambda row: (_rank(row), places.of(row), row["label"], row["size"]))
    sizes = sorted({row["size"] for row in rows})
    lines: dict[tuple[str, ...], dict[int, Cell | str]] = {}
    for row in rows:
        head = (formatting.direction(row["direction"]), *places.of(row), row["label"])
        lines.setdefault(head, {})[row["size"]] = show(row)
    columns = ("direction", *places.varying, "variant", *map(formatting.size, sizes))
    missing = Cell(formatting.MISSING, "muted")
    cells = tuple((*head, *(line.get(size, missing) for size in sizes)) for head, line in lines.items())
    return Table(columns, cells, caption, folded=True, headings=2 + len(places.varying))


def _rank(row: Mapping[str, Any]) -> int:
    return DIRECTIONS.index(row["direction"]) if row["direction"] in DIRECTIONS else len(DIRECTIONS)


def saves(decision: Any) -> str:
    """Return what an answer saves, at least and with its estimate; a dash for one that changes nothing."""
    if decision.choice is None:
        return formatting.MISSING
    return formatting.saved_at_least(decision.saved, decision.saved_low)

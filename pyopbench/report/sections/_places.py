"""Where a number holds: panels of charts and rows of tables, with mode, dtype and placement only where they vary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.model.case import DIRECTIONS, Case
from pyopbench.model.errors import BadInput
from pyopbench.report.sections import Cell, Table

if TYPE_CHECKING:
    import pandas as pd

    from pyopbench.judge.decision import Decision
    from pyopbench.judge.judge import Judgement

FIELDS = ("mode", "dtype", "placement")


@dataclass(frozen=True)
class Places:
    """The fields of `FIELDS` that have more than one value in a judgement; the others go without saying."""

    varying: tuple[str, ...]

    def of(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the values of the varying fields."""
        return tuple(str(row[field]) for field in self.varying)

    def panel(self, row: Mapping[str, Any]) -> str:
        """Return the title of the panel: the direction, and where it holds."""
        return " · ".join((formatting.direction(row["direction"]), *self.of(row)))

    def in_panels(self, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows with their `panel`, sorted so that the directions of one place stand side by side."""
        ordered = sorted(rows, key=lambda row: (self.of(row), _rank(row["direction"]), row["label"], row["size"]))
        return [{**row, "panel": self.panel(row)} for row in ordered]


def places_of(judgement: Judgement) -> Places:
    """Return which of mode, dtype and placement vary over measured cases and decisions."""
    return varying_in([(judgement.latencies, judgement.decisions)])


def varying_in(judged: Iterable[tuple[pd.DataFrame, Sequence[Decision]]]) -> Places:
    """Return which of mode, dtype and placement vary over latencies and decisions, those of several versions too."""
    seen: dict[str, set[str]] = {field: set() for field in FIELDS}
    for latencies, decisions in judged:
        for field in FIELDS:
            seen[field].update(latencies[field], (getattr(decision, field) for decision in decisions))
    return Places(tuple(field for field in FIELDS if len(seen[field]) > 1))


def records(judgement: Judgement, op: str) -> list[dict[str, Any]]:
    """Return the rows of `judgement.latencies` for an op, as dictionaries with text for keys."""
    return judgement.rows_by_op.get(op, [])


def records_in(table: pd.DataFrame, op: str) -> list[dict[str, Any]]:
    """Return the rows of a table of latencies for an op, as dictionaries with text for keys."""
    return [{str(key): value for key, value in row.items()} for row in table[table["op"] == op].to_dict("records")]


def ops_of(judgement: Judgement) -> list[str]:
    """Return the measured ops in the order of the latencies."""
    return [*judgement.rows_by_op]


def unit_of(judgement: Judgement, op: str) -> str:
    """Return what a size of the op counts."""
    return judgement.run.catalogue.op(op).size_unit


def parsed(case: str) -> Case | None:
    """Return the case of an id, or None for what is not one, so that it can still be shown."""
    try:
        return Case.from_id(case)
    except BadInput:
        return None


def cost(row: Mapping[str, Any]) -> Cell | str:
    """Return what a row of `latencies.latency_table` costs, with its interval."""
    return seconds_or_noise(row["seconds"], row["low"], row["high"], too_noisy=bool(row["too_noisy"]))


def seconds_or_noise(value: float | None, low: float | None, high: float | None, *, too_noisy: bool) -> Cell | str:
    """Return a duration and its interval; what is too noisy is not a number."""
    if too_noisy:
        return Cell(formatting.TOO_NOISY, "muted")
    return formatting.seconds_interval(value, low, high)


def by_size(
    rows: Iterable[Mapping[str, Any]], places: Places, show: Callable[[Mapping[str, Any]], Cell | str], caption: str
) -> Table:
    """Return a folded table with a row per direction, place and label, and a column per size."""
    rows = sorted(rows, key=lambda row: (_rank(row["direction"]), places.of(row), row["label"], row["size"]))
    sizes = sorted({row["size"] for row in rows})
    lines: dict[tuple[str, ...], dict[int, Cell | str]] = {}
    for row in rows:
        head = (formatting.direction(row["direction"]), *places.of(row), row["label"])
        lines.setdefault(head, {})[row["size"]] = show(row)
    columns = ("direction", *places.varying, "variant", *(formatting.size(size) for size in sizes))
    cells = tuple((*head, *_filled(line, sizes)) for head, line in lines.items())
    return Table(columns, cells, caption, folded=True, headings=2 + len(places.varying))


def _filled(line: Mapping[int, Cell | str], sizes: Sequence[int]) -> tuple[Cell | str, ...]:
    return tuple(line.get(size, Cell(formatting.MISSING, "muted")) for size in sizes)


def _rank(direction: str) -> int:
    return DIRECTIONS.index(direction) if direction in DIRECTIONS else len(DIRECTIONS)

"""By how much the variants that were measured differ from the reference, in values and gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Heading, Paragraph, Section, Table
from pyopbench.report.sections._places import Places, ops_of, places_of, records

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

ERRORS = {"values": "values", "gradient": "gradient", "finite_difference": "against finite differences"}
"""Key of `Run.checked` -> the heading of its column."""
MEANING = (
    "Every variant with a number was checked: its values against NumPy, its gradient against a reference gradient and, "
    "at a small size, against finite differences. Shown is the largest error over the sizes, relative to the largest "
    "expected magnitude. A variant with a larger error than the op allows is reported as wrong and never timed. Where "
    "a function is too rough or too noisy for finite differences, the last column is empty."
)


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op a table of the largest errors; nothing for results from before they were stored."""
    if not judgement.run.checked:
        return ()
    places = places_of(judgement)
    pages = (block for op in ops_of(judgement) for block in _op(judgement, op, places))
    return (Paragraph(MEANING), *pages)


def _op(judgement: Judgement, op: str, places: Places) -> Sequence[Block]:
    largest: dict[tuple[Cell | str, ...], dict[str, float]] = {}
    for row in records(judgement, op):
        errors = judgement.run.checked.get(str(row["case"]))
        if errors is not None:
            held = largest.setdefault(_head(row, places), {})
            held.update({name: max(error, held.get(name, 0.0)) for name, error in errors.items()})
    if not largest:
        return ()
    rows = tuple((*head, *(_shown(errors.get(name)) for name in ERRORS)) for head, errors in largest.items())
    columns = ("direction", *places.varying, "variant", *ERRORS.values())
    caption = f"{op}: largest errors, relative to the largest magnitude"
    return (
        Heading(op, of_op=True),
        Table(columns, rows, caption, folded=True, headings=2 + len(places.varying)),
    )


def _head(row: Mapping[str, Any], places: Places) -> tuple[Cell | str, ...]:
    return (formatting.direction(row["direction"]), *places.of(row), row["label"])


def _shown(error: float | None) -> Cell | str:
    return formatting.MISSING if error is None else "equal" if error == 0 else f"{error:.1e}"


SECTION = Section("checks", "Errors of values and gradients", 32, build)

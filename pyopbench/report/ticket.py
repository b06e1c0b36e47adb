"""What of a report goes into a ticket: the answer, and for each op its reasons and one table, folded into one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup, escape

from pyopbench.report.layout import OpPage
from pyopbench.report.sections import Cell, Table

ANSWER = "decisions"
TIMES = "latency"
"""Names of the sections that have the reasons of an op, and its table."""


def folded(page: OpPage, whole: bool) -> Markup:  # noqa: FBT001 - a filter of a template
    """Return the page of an op as one line of HTML, which tickets show on demand.

    Args:
        page: of the op.
        whole: False leaves the table out, where the text would be too long for a ticket.
    """
    reasons = [reason for table in _tables(page, ANSWER) if table.says_why for reason in _reasons(table)]
    times = list(_tables(page, TIMES))
    shown = [_table(times[0])] if times and whole else []
    note = f" · {page.note}" if page.note else ""
    head = Markup("<summary>{}</summary>").format(_line(f"{page.op}{note}"))
    why = (Markup("<p>{}</p>").format(_line(reason)) for reason in reasons)
    return Markup("<details>{}</details>").format(Markup("").join((head, *why, *shown)))


def _tables(page: OpPage, name: str) -> Iterator[Table]:
    for section, blocks in page.parts:
        if section.name == name:
            yield from (block for block in blocks if isinstance(block, Table))


def _reasons(table: Table) -> Iterator[str]:
    for row in table.rows:
        yield f"{', '.join(str(cell) for cell in row[: table.headings])}: {row[-1]}"


def _table(table: Table) -> Markup:
    cells = (_row(table.columns, "th"), *(_row(row, "td") for row in table.rows))
    caption = Markup("<p>{}</p>").format(_line(table.caption))
    return caption + Markup("<table>{}</table>").format(Markup("").join(cells))


def _row(cells: Sequence[Cell | str], tag: str) -> Markup:
    shown = Markup("").join(Markup(f"<{tag}>{{}}</{tag}>").format(_line(str(cell))) for cell in cells)
    return Markup("<tr>{}</tr>").format(shown)


def _line(words: str) -> Markup:
    """Return the text in one line: a blank line would end the HTML, and what follows would be Markdown again."""
    return escape(" ".join(words.split()))

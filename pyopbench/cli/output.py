"""What the command line prints with: results go to stdout, progress to stderr."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyopbench.api.console import err, out, say, say_error
from pyopbench.model.case import Failure
from pyopbench.model.printable import printable

__all__ = ["err", "out", "print_failures", "print_table", "print_warnings", "say", "say_error"]

GAP = 2
"""Blanks between the columns of a table."""

NARROW = 8
"""A column is not made narrower than this for the sake of the words of others."""

SHOWN_FAILURES = 20
"""How many reasons of failures are printed where nobody asks for fewer."""


def print_table(
    title: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], console: Console = out, *, folds: bool = False
) -> None:
    """Print a table without lines; a column of integers, which are counts, stands to the right.

    Args:
        title: above it.
        columns: the headings.
        rows: a cell for each heading, an integer or what has a text.
        console: where to.
        folds: lets the first column break, and where that does not do all others between words.
    """
    console.print(f"[italic]{escape(title)}[/]")
    counts = [bool(rows) and all(isinstance(row[place], int) for row in rows) for place in range(len(columns))]
    rows = [tuple(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row) for row in rows]
    # Names in the first column stay whole, so that they can be searched for.
    whole = [(place > 0) == folds for place in range(len(columns))]
    cells = tuple(zip(columns, *rows, strict=True))
    widths = _widths(cells, whole, console.width)
    if widths is None and folds:
        whole = [False] * len(columns)
        widths = _widths(cells, whole, console.width)
    widths = widths or _widths(cells, whole, console.width, breaks=True)
    table = Table(box=None, pad_edge=widths is not None, padding=(0, GAP, 0, 0), header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(
            escape(printable(column)),
            overflow="fold",
            no_wrap=whole[place],
            justify="right" if counts[place] else "left",
            width=None if widths is None else widths[place],
        )
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    console.print(table)
    console.print()


def _widths(
    columns: Sequence[Sequence[str]], whole: Sequence[bool], room: int, *, breaks: bool = False
) -> list[int] | None:
    """Return widths at which no word of a table is broken; None where it needs none, or where there are none.

    Args:
        columns: the cells of each, with its heading.
        whole: which columns do not break.
        room: the width of the terminal.
        breaks: lets the longest words break, so that all others stay whole.
    """
    lines, words = (
        [max(cell_len(part) for cell in column for part in re.split(mark, cell)) for column in columns]
        for mark in ("\n", "[ \n]")
    )
    least = [line if stays else word for line, word, stays in zip(lines, words, whole, strict=True)]
    if sum(lines) + GAP * (len(columns) - 1) <= room:
        return None
    room -= GAP * len(columns)
    while sum(least) > room:
        long = [place for place, stays in enumerate(whole) if not stays and least[place] > NARROW]
        if not breaks or not long:
            return None
        least[max(long, key=least.__getitem__)] -= 1
    widths = lines
    while sum(widths) > room:
        broad = [place for place, width in enumerate(widths) if width > least[place]]
        widths[max(broad, key=widths.__getitem__)] -= 1
    return widths


MOST_WARNINGS = 30


def print_warnings(warnings: Sequence[Any]) -> None:
    """Print warnings about results, and how many are not shown."""
    for warning in warnings[:MOST_WARNINGS]:
        say(f"[yellow]warning:[/] {escape(warning.text())}", err)
    if len(warnings) > MOST_WARNINGS:
        say(f"and {len(warnings) - MOST_WARNINGS:,} more warnings", err)


def print_failures(failures: Sequence[Failure]) -> None:
    """Print each reason once with its first case, and say how many cases and reasons are not shown."""
    cases: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        cases.setdefault((failure.status, failure.reason), []).append(failure.case)
    for (status, reason), found in list(cases.items())[:SHOWN_FAILURES]:
        more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
        out.print(f"[red]{escape(status)}[/]  {escape(printable(found[0]))}{more}", soft_wrap=True)
        say(escape(reason), mark="  ")
    if len(cases) > SHOWN_FAILURES:
        out.print(f"and {len(cases) - SHOWN_FAILURES:,} more reasons")

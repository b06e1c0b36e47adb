"""What the command line prints with: results go to stdout, progress to stderr."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyopbench.api.console import err, errors, out, say, say_error
from pyopbench.model.case import Failure
from pyopbench.model.formatting import printable

__all__ = ["err", "errors", "out", "print_failures", "print_table", "print_warnings", "say", "say_error"]

GAP = 2
"""Blanks between the columns of a table."""
SHOWN_FAILURES = 20
"""So many reasons of failures are printed."""


def print_table(
    title: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], console: Console = out, *, folds: str = ""
) -> None:
    """Print a table without lines; a column of integers, which are counts, is aligned to the right.

    Args:
        title: above it.
        columns: the headings.
        rows: a cell for each heading, an integer or what has a text.
        console: where to.
        folds: the only column that breaks, if the terminal is too narrow; without it, all do but the first, whose
            names stay whole, to be searched for.
    """
    console.print(f"[italic]{escape(title)}[/]")
    counts = [bool(rows) and all(isinstance(row[place], int) for row in rows) for place in range(len(columns))]
    texts = [[printable(f"{cell:,}" if isinstance(cell, int) else str(cell)) for cell in row] for row in rows]
    whole = {place for place, column in enumerate(columns) if (column != folds if folds else place == 0)}
    widths = _widths([*zip(columns, *texts, strict=True)], whole, console.width - GAP * len(columns))
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for column, width, are_counts in zip(columns, widths, counts, strict=True):
        table.add_column(
            escape(printable(column)), overflow="fold", width=width, justify="right" if are_counts else "left"
        )
    for row in texts:
        table.add_row(*map(escape, row))
    console.print(table)
    console.print()


def _widths(columns: Sequence[Sequence[str]], whole: Set[int], room: int) -> list[int]:
    """Return widths of columns, of which some stay whole and no word of the others breaks, as far as there is room."""
    widths = [max(map(cell_len, column)) for column in columns]
    words = [max(cell_len(word) for text in column for word in text.split(" ")) for column in columns]
    least = [widths[place] if place in whole else words[place] for place in range(len(columns))]
    if whole and sum(least) > room:
        return _widths(columns, frozenset(), room)
    while sum(widths) > room:
        broad = [place for place, width in enumerate(widths) if width > least[place]] or range(len(widths))
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

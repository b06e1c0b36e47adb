"""What the command line prints with: results go to stdout, progress to stderr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyopbench.api.console import err, out, say, say_error
from pyopbench.model.case import Failure
from pyopbench.model.printable import printable

__all__ = ["err", "out", "print_failures", "print_table", "print_warnings", "say", "say_error"]

GAP, LEAST_WIDTH = 2, 16
"""Blanks between the columns of a table; and how narrow a column may get that breaks for the others."""

LONGEST_WHOLE = 40
"""Characters of a name that is not broken; the end of a longer one would be cut off."""

SHOWN_FAILURES = 20
"""How many reasons of failures are printed where nobody asks for fewer."""


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
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    lengths = [max(len(str(row[place])) for row in (columns, *rows)) for place in range(len(columns))]
    others = sum(length + GAP for column, length in zip(columns, lengths, strict=True) if column != folds)
    fits = (
        others + LEAST_WIDTH <= console.width
    )  # if not, all columns break, because the end of a line would be cut off
    for place, column in enumerate(columns):
        are_counts = bool(rows) and all(isinstance(row[place], int) for row in rows)
        table.add_column(
            escape(printable(column)),
            overflow="fold",
            no_wrap=fits and column != folds if folds else place == 0 and lengths[0] <= LONGEST_WHOLE,
            min_width=LEAST_WIDTH if fits and column == folds else None,
            justify="right" if are_counts else "left",
        )
    for row in rows:
        table.add_row(*(escape(printable(f"{cell:,}" if isinstance(cell, int) else str(cell))) for cell in row))
    console.print(table)
    console.print()


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

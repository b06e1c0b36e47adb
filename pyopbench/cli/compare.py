"""Prints comparisons and histories."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.output import out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.files import write_atomically

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import Comparison
    from pyopbench.judge.comparison.history import History

NOTHING_COMPARED = "No case has an interval, so nothing can be said about slowdowns."
MOST_ROWS = 30
"""So many cases are printed, and all that are slower; the rest is in Markdown and JSON."""


def outcome_text(slowdown: float | None, cases: int, bodies: int) -> str:
    """Return whether a comparison fails, by how many cases and bodies that are slower."""
    if slowdown is None:
        return "Slowdowns do not fail this comparison (--fail-on never)."
    share = f"by {formatting.percent(slowdown)} or more"
    counted = ((bodies, "body", "bodies"), (cases, "case", "cases"))
    parts = [formatting.count(many, one, several) for many, one, several in counted if many]
    if not parts:
        return f"Passed: no case is clearly slower {share}."
    return f"Failed: {formatting.listing(parts)} {'is' if bodies + cases == 1 else 'are'} slower {share}."


def print_comparison(found: Comparison, said: str) -> None:
    """Print a comparison for a terminal, and a last sentence."""
    from pyopbench.judge.comparison.diff import notes_of
    from pyopbench.report import comparison

    out.print(f"[bold]{escape(found.title())}[/]\n")
    for note in notes_of(found):
        heading = f"[bold yellow]{escape(note.heading)}:[/] " if note.heading else ""
        out.print(f"{heading}{escape(note.sentence)}")
    out.print()
    if found.differences:
        print_table("What else differs", ("environment", "A", "B"), comparison.differences(found))
    slower = found.counts()["slower"]
    rows = comparison.rows(found)[: max(MOST_ROWS, slower)]
    shared = comparison.shared_parts([case.case for case in found.cases])
    print_table(f"Worst first{shared and f'; all are {shared}'}", comparison.COLUMNS, rows, folds="case")
    if len(rows) < len(found.cases):
        out.print(f"and {len(found.cases) - len(rows):,} more, in --markdown and --json\n")
    for body in found.bodies:
        out.print(escape(body.text()))
    if found.unmatched:
        print_table("Measured on one side only", ("cases", "only in", "why"), comparison.unmatched(found))
    out.print(escape(found.summary()))
    say(escape(said))


def write_history(found: History, folder: Path) -> None:
    """Write a history as a page, Markdown and JSON."""
    from pyopbench.report.history import as_json, html, markdown

    folder.mkdir(parents=True, exist_ok=True)
    contents = {"html": html(found).encode(), "md": markdown(found).encode(), "json": as_json(found).encode()}
    for name, content in contents.items():
        write_atomically(folder / f"history.{name}", content)


def print_history(found: History, folder: Path) -> None:
    """Print the changes, and the commands that confirm them."""
    from pyopbench.judge.comparison.history import CHANGES_CAPTION, RERUN
    from pyopbench.report.history import COLUMNS, short_rows

    out.print(f"[bold]{escape(found.title())}[/]\n")
    if found.changes:
        shared, rows = short_rows(found, MOST_ROWS)
        print_table(f"{CHANGES_CAPTION}{shared and f'; all are {shared}'}", COLUMNS, rows, folds="case")
    if len(found.changes) > MOST_ROWS:
        out.print(f"and {len(found.changes) - MOST_ROWS:,} more, in the files\n")
    say(escape(found.summary()))
    if found.changes:
        say(escape(found.alarm_text()))
    for note in found.notes:
        say(escape(note.text()), mark="- ")
    commands = found.commands()[:MOST_ROWS]
    if commands:
        out.print(RERUN)
    for command in commands:
        out.print(f"  {escape(command)}", soft_wrap=True)
    out.print(f"page: {escape(str(folder / 'history.html'))}", soft_wrap=True)

"""What `pyopbench history` writes and prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.output import out, print_table, say
from pyopbench.model.write_file import write_atomically

if TYPE_CHECKING:
    from pyopbench.judge.comparison.history import History

MOST_ROWS = 30


def write_history(found: History, folder: Path) -> None:
    """Write a history as a page, Markdown and JSON."""
    from pyopbench.report.history import as_json, markdown
    from pyopbench.report.history_page import html

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
        print_table(f"{CHANGES_CAPTION}{shared and f'; all are {shared}'}", COLUMNS, rows, folds=True)
    if len(found.changes) > MOST_ROWS:
        out.print(f"and {len(found.changes) - MOST_ROWS:,} more, in the files\n")
    say(escape(found.summary()))
    if found.changes:
        say(escape(found.alarm_text()))
    for note in found.notes:
        say(escape(note.text()), mark="- ")
    commands = [one.text() for one in found.reruns()[:MOST_ROWS]]
    if commands:
        out.print(RERUN)
    for command in commands:
        out.print(f"  {escape(command)}", soft_wrap=True)
    out.print(f"page: {escape(str(folder / 'history.html'))}", soft_wrap=True)

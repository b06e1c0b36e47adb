"""`pyopbench history`: series over commits, versions or dates and the changes in them, as a page, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.markup import escape

from pyopbench.cli.output import err, out, print_table, say
from pyopbench.model import formatting
from pyopbench.model.write_file import write_atomically

if TYPE_CHECKING:
    from pyopbench.judge.comparison.history import History

MOST_ROWS = 30


def history(
    *,
    results: Sequence[Path],
    by: Literal["commit", "tf", "date"] | None,
    minimum_effect: float,
    out_path: Path,
    as_json: bool,
) -> None:
    """Plot results over commits, TensorFlow versions or dates, and find where they changed."""
    # pandas and SciPy cost a second, which a mistake in the options need not pay.
    from pyopbench.judge.comparison.history import Options, read_history

    with err.status("reading"):
        found = read_history(results, Options(by, minimum_effect))
    for warning in found.warnings[:MOST_ROWS]:
        say(f"[yellow]warning:[/] {escape(warning.text())}", err)
    if len(found.warnings) > MOST_ROWS:
        more = formatting.count(len(found.warnings) - MOST_ROWS, "more warning")
        say(f"and {more}, all in history.json", err)
    _write(found, out_path)
    if as_json:
        out.print_json((out_path / "history.json").read_text(encoding="utf-8"))
    else:
        _print(found, out_path)


def _write(found: History, folder: Path) -> None:
    from pyopbench.report.history import as_json, markdown
    from pyopbench.report.history_page import html

    folder.mkdir(parents=True, exist_ok=True)
    contents = {"html": html(found).encode(), "md": markdown(found).encode(), "json": as_json(found).encode()}
    for name, content in contents.items():
        write_atomically(folder / f"history.{name}", content)


def _print(found: History, folder: Path) -> None:
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
    for remark in found.remarks:
        say(escape(remark.text()), mark="- ")
    commands = [one.text() for one in found.reruns()[:MOST_ROWS]]
    if commands:
        out.print(RERUN)
    for command in commands:
        out.print(f"  {escape(command)}", soft_wrap=True)
    out.print(f"page: {escape(str(folder / 'history.html'))}", soft_wrap=True)

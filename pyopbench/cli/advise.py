"""What `pyopbench advise` prints and checks."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from rich.markup import escape

from pyopbench.advise import report
from pyopbench.advise.advice import Advice
from pyopbench.advise.advise import check as check_advice
from pyopbench.advise.attempt import Options
from pyopbench.advise.program import Program
from pyopbench.api.listeners import listener_here
from pyopbench.cli.output import err, out, print_table, say


def check_stored(program: Program, options: Options, stored: Path, out_path: Path | None) -> int:
    """Return 1 if a callback is new, or was ported and is a callback again."""
    with TemporaryDirectory() as scratch:
        folder = out_path or Path(scratch, "advice")
        changes = check_advice(program, folder, options, stored, listener_here(progress=not err.quiet))
    for one in changes:
        say(escape(one.text()))
    say("no new callbacks, and none that had been ported" if not changes else "[bold red]failed[/]")
    return 1 if changes else 0


def print_advice(advice: Advice) -> None:
    """Write the report, and print what to do about each callback."""
    page = report.write(advice)
    out.print()
    if advice.rows:
        print_table(report.table_title(advice), report.COLUMNS, report.rows(advice), folds="callback")
        for one in (*report.reasons(advice), report.explanation()):
            say(escape(one))
        out.print()
    say(f"[bold]{escape(report.headline(advice))}[/]")
    for one in report.commands(advice):
        out.print(f"  {escape(one)}", soft_wrap=True)
    out.print(f"report: {escape(str(page))}", soft_wrap=True)

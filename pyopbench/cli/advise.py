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
        new = check_advice(program, folder, options, stored, listener_here(progress=not err.quiet))
    for one in new:
        say(escape(one.text()))
    say("no new callbacks, and none that had been ported" if not new else "[bold red]failed[/]")
    return 1 if new else 0


def print_advice(advice: Advice) -> None:
    """Write the report, and print what to do, a line for each callback, and why."""
    page = report.write(advice)
    say(f"[bold]{escape(report.headline(advice))}[/]")
    for one in report.commands(advice):
        out.print(f"  {escape(one)}", soft_wrap=True)
    if advice.rows:
        out.print()
        print_table(report.table_title(advice), report.COLUMNS, report.rows(advice, report.LONGEST_NAME))
        for one in report.reasons(advice):
            say(escape(one), mark="- ")
    out.print(f"report: {escape(str(page))}", soft_wrap=True)

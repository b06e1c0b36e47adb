"""`pyopbench advise`: from a program to a faster program, in one command."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rich.markup import escape

from pyopbench.advise import report
from pyopbench.advise.advice import Advice
from pyopbench.advise.advise import advise as make_advice
from pyopbench.advise.advise import check as check_advice
from pyopbench.advise.attempt import Options
from pyopbench.advise.program import Program
from pyopbench.api.listeners import listener_here
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine import git
from pyopbench.model.errors import BadInput


def advise(  # each is an option
    *,
    command: Sequence[str],
    out_path: Path | None,
    steps: int | None,
    seconds: float | None,
    budget_seconds: float | None,
    minimum_effect: float,
    apply: bool,
    check: Path | None,
) -> int:
    """Say what to do about the callbacks of a program, try it on a copy, and write the change as a patch."""
    if apply and check is not None:
        raise BadInput(
            "--check only records, so there is nothing to apply",
            received="--apply with --check",
            hint="leave one of them out",
        )
    folder = out_path or Path(f"advice-{datetime.now(timezone.utc):%Y%m%d-%H%M%S}")
    program = Program.here(command, Path.cwd(), [folder])
    options = Options(steps, seconds, minimum_effect=minimum_effect)
    if budget_seconds is not None:
        options = Options(steps, seconds, budget_seconds, minimum_effect)
    if check is not None:
        return _check(program, options, check, out_path)
    try:
        advice = make_advice(program, folder, options, listener_here(progress=not err.quiet))
    except KeyboardInterrupt:
        err.print(f"interrupted; the same command with --out {escape(str(folder))} continues", soft_wrap=True)
        raise
    _show(advice)
    return _apply(advice) if apply else 0


def _check(program: Program, options: Options, stored: Path, out_path: Path | None) -> int:
    """Fail if a callback is new, or was ported and is a callback again."""
    with TemporaryDirectory() as scratch:
        folder = out_path or Path(scratch, "advice")
        changes = check_advice(program, folder, options, stored, listener_here(progress=not err.quiet))
    for one in changes:
        say(escape(one.text()))
    say("no new callbacks, and none that had been ported" if not changes else "[bold red]failed[/]")
    return 1 if changes else 0


def _show(advice: Advice) -> None:
    page = report.write(advice)
    out.print()
    if advice.rows:
        print_table(report.table_title(advice), report.COLUMNS, report.rows(advice), folds=True)
        for one in (*report.reasons(advice), report.explanation()):
            say(escape(one))
        out.print()
    say(f"[bold]{escape(report.headline(advice))}[/]")
    for one in report.commands(advice):
        out.print(f"  {escape(one)}", soft_wrap=True)
    out.print(f"report: {escape(str(page))}", soft_wrap=True)


def _apply(advice: Advice) -> int:
    """Ask whether to apply the change to the user's files, and apply it."""
    if advice.patch is None:
        say("there is no change to apply")
        return 0
    if not typer.confirm(f"apply {advice.patch} to {advice.program.root}?", err=True):
        return 0
    git.require(advice.program.root, "apply", str(advice.patch.resolve()), what="git cannot apply the change")
    say("applied")
    return 0

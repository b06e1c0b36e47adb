"""Prints comparisons: of two results, of the sides of a run, and of a history."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.api.results import SidesResult
from pyopbench.cli.output import err, out, print_failures, print_table, say
from pyopbench.cli.report import print_blocks, print_undecided
from pyopbench.engine import stored_run
from pyopbench.judge.comparison import gate as wording
from pyopbench.judge.comparison.diff import Comparison, notes_of
from pyopbench.judge.comparison.history import CHANGES_CAPTION, RERUN, History
from pyopbench.judge.requirements import remarks
from pyopbench.model import formatting
from pyopbench.model.case import EXPECTED
from pyopbench.model.errors import EXIT_WRONG
from pyopbench.model.files import write_atomically
from pyopbench.report import comparison
from pyopbench.report import gate as report
from pyopbench.report import history as history_report
from pyopbench.report.sections import versions
from pyopbench.store.run import OpenRun

if TYPE_CHECKING:
    from pyopbench.judge.comparison.gate import Gate, VersionComparison
    from pyopbench.judge.judge import Judging

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
    folder.mkdir(parents=True, exist_ok=True)
    forms = {"html": history_report.html, "md": history_report.markdown, "json": history_report.as_json}
    for name, render in forms.items():
        write_atomically(folder / f"history.{name}", render(found).encode())


def print_history(found: History, folder: Path) -> None:
    """Print the changes, and the commands that confirm them."""
    out.print(f"[bold]{escape(found.title())}[/]\n")
    if found.changes:
        shared, rows = history_report.short_rows(found, MOST_ROWS)
        print_table(f"{CHANGES_CAPTION}{shared and f'; all are {shared}'}", history_report.COLUMNS, rows, folds="case")
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


def report_sides(run: OpenRun, judging: Judging, fail_on: str | None, *, as_json: bool = False) -> int:
    """Compare the sides of a run with the first, write and print what came out, and return the exit code.

    Environments have a report each as well, because each may have another answer. Revisions are compared to find what
    became slower.
    """
    with err.status("judging and comparing"):
        result = SidesResult(run, judging, fail_on)
        result.report()
    can_fail = run.has_revisions or result.gate.fail_on is not None
    if result.across is not None:
        _print_environments(run, result, result.across, is_silent=as_json)
    if as_json:
        out.print_json(report.as_json(result.gate))
    elif can_fail:
        print_gate(result.gate, run.folder)
    if can_fail:
        return result.gate.exit_code
    return EXIT_WRONG if any(map(stored_run.found_wrong, run.measured)) else 0


def _print_environments(run: OpenRun, result: SidesResult, across: VersionComparison, *, is_silent: bool) -> None:
    """Print the answers on each environment, what changed from the first, what failed, and where the reports are."""
    for side in (one.side for one in run.measured if one.side.label in across.unmeasured):
        own = [word for one in run.own.values() for word in one.words]
        verify = shlex.join(["pyopbench", "verify", *own, *(["--tf", side.tf] if side.tf else [])])
        why = f"nothing was measured on {side.label}: {across.unmeasured[side.label]}; {verify} shows what is wrong"
        say(f"[yellow]warning:[/] {escape(why)}", err)
    judgements = {label: one.judgement for label, one in result.runs.items()}
    for warning in dict.fromkeys(warning for one in judgements.values() for warning in one.run.warnings):
        say(f"[yellow]warning:[/] {escape(warning.text())}", err)
    if is_silent:
        return
    print_blocks(versions.brief(across))
    for label, judgement in judgements.items():
        failed = [failure for failure in judgement.run.failures if failure.status not in EXPECTED]
        required = remarks(judgement)
        if failed or required:
            out.print(f"On {label}:")
        for sentence in required:
            say(escape(sentence))
        print_undecided(judgement, [run.alone(next(one for one in run.measured if one.side.label == label))])
        print_failures(failed)
        path = result.runs[label].folder / "report.html"
        out.print(f"report of {label}: {escape(str(path))}", soft_wrap=True)


def print_gate(gate: Gate, folder: Path) -> None:
    """Print the result: the answer, changed values, what cannot be measured, the cases, and the control."""
    style = {"passed": "green", "failed": "red", "nothing": "yellow"}[gate.outcome]
    say(f"[bold {style}]{escape(gate.answer_text())}[/]\n")
    if warning := gate.warning_text():
        say(f"[yellow]{escape(warning)}[/]\n")
    for version in (gate.first, *gate.others):
        out.print(escape(wording.name_text(version)), soft_wrap=True)
    out.print()
    for sentence in (*report.findings(gate), gate.values_text()):
        say(escape(sentence), mark="- ")
    out.print()
    shared, columns, rows, more = report.cases_table(gate, MOST_ROWS)
    if rows:
        print_table(
            f"against {gate.first.label}, worst first{shared and f'; all are {shared}'}", columns, rows, folds="case"
        )
    if more:
        out.print(f"and {more:,} more, in {report.DOCUMENT}\n")
    for name, compared in gate.comparisons.items():
        if compared.unmatched:
            title = f"{name}: measured on one side only"
            print_table(title, ("cases", "only in", "why"), comparison.unmatched(compared))
    for sentence in (gate.reach_text(), gate.control_text(), gate.machine.text()):
        say(escape(sentence))
    files = formatting.listing([str(folder / name) for name in (report.COMMENT, report.DOCUMENT)])
    out.print(f"written: {escape(files)}", soft_wrap=True)

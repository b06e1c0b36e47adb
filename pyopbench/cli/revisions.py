"""What `pyopbench run --rev` prints: other values before any time, what became slower, and what noise alone did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.compare import MOST_ROWS
from pyopbench.cli.output import err, out, print_table, say
from pyopbench.engine.revision_request import slowdown_of
from pyopbench.judge import judge
from pyopbench.model import formatting

if TYPE_CHECKING:
    from pyopbench.judge.comparison.gate import Gate


def report_revisions(folder: Path, options: judge.Judging, fail_on: str | None, *, as_json: bool = False) -> int:
    """Compare the revisions of a run, write and print what came out, and return the exit code."""
    slowdown = slowdown_of(fail_on, options.minimum_effect)
    with err.status("comparing"):
        from pyopbench.judge.comparison.gate import read_gate
        from pyopbench.report import gate as report

        gate = read_gate(folder, options.minimum_effect, slowdown)
        report.write(gate, folder)
    if as_json:
        out.print_json(report.as_json(gate))
    else:
        print_gate(gate, folder)
    return gate.exit_code


def print_gate(gate: Gate, folder: Path) -> None:
    """Print the result: the answer, changed values, what cannot be measured, the cases, and the control."""
    from pyopbench.report import gate as report
    from pyopbench.report.wording import gate as wording

    style = {"passed": "green", "failed": "red", "nothing": "yellow"}[gate.outcome]
    say(f"[bold {style}]{escape(wording.answer_text(gate))}[/]\n")
    for version in (gate.first, *gate.others):
        out.print(escape(wording.name_text(version)), soft_wrap=True)
    out.print()
    for finding in report.findings(gate):
        say(escape(finding), mark="- ")
    say(escape(wording.values_text(gate)), mark="- ")
    out.print()
    _print_cases(gate)
    for sentence in (wording.reach_text(gate), wording.twins_text(gate)):
        say(escape(sentence))
    files = formatting.listing([str(folder / name) for name in (report.COMMENT, report.DOCUMENT, report.JUNIT)])
    out.print(f"written: {escape(files)}", soft_wrap=True)


def _print_cases(gate: Gate) -> None:
    """Print the cases of the only other revision, before and after; those of several in one table, in order."""
    from pyopbench.report import comparison
    from pyopbench.report import gate as report

    if len(gate.comparisons) > 1:
        table = report.table_together(gate, MOST_ROWS)
        shared, columns, rows, more = table.shared, table.columns, table.rows, table.more
        title = f"against {gate.first.label}{shared and f'; all are {shared}'}"
    else:
        label, found = next(iter(gate.comparisons.items()), ("", None))
        if found is None:
            return
        shared, columns = comparison.shared_parts([case.key for case in found.cases]), comparison.COLUMNS
        rows = comparison.rows(found)[: max(MOST_ROWS, found.counts()["slower"])]
        title = f"{label} (B) against {gate.first.label} (A){shared and f'; all are {shared}'}"
        more = len(found.cases) - len(rows)
    print_table(title, columns, rows, folds=len(gate.comparisons) == 1)
    if more:
        out.print(f"and {more:,} more, in {report.DOCUMENT}\n")
    for name, compared in gate.comparisons.items():
        if compared.unmatched:
            title = f"{name}: measured on one side only"
            print_table(title, ("cases", "only in", "why"), comparison.unmatched(compared))

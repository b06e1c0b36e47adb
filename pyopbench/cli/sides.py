"""What a run on several sides prints: what to do on each, what became slower, other values, and what noise did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.compare import MOST_ROWS, print_comparison
from pyopbench.cli.output import err, out, print_failures, print_table, say, say_error
from pyopbench.engine import sides, stored_run
from pyopbench.judge import judge
from pyopbench.model import formatting
from pyopbench.model.errors import detail_label
from pyopbench.model.printable import printable
from pyopbench.store.run import OpenRun, report_folder
from pyopbench.store.types import Side

if TYPE_CHECKING:
    from pyopbench.judge.comparison.gate import Gate
    from pyopbench.judge.comparison.versions import VersionComparison
    from pyopbench.judge.judge import Judgement


def report_sides(run: OpenRun, options: judge.Judging, fail_on: str | None, *, as_json: bool = False) -> int:
    """Compare the sides of a run with the first, write and print what came out, and return the exit code.

    Environments have a report each as well, because each may have another answer. Of revisions what became slower is
    asked, and of a range there are many.
    """
    has_revisions = run.has_revisions
    slowdown = sides.failing_slowdown(run, fail_on, options.minimum_effect)
    with err.status("comparing"):
        from pyopbench.judge.comparison.gate import read_gate
        from pyopbench.report import gate as report

        gate = read_gate(run, options.minimum_effect, slowdown)
        report.write(gate, run.folder)
    is_wrong = False if has_revisions else _report_environments(run, gate, options, is_silent=as_json)
    if as_json:
        out.print_json(report.as_json(gate))
    elif slowdown is not None or has_revisions:
        print_gate(gate, run.folder)
    return gate.exit_code if slowdown is not None or has_revisions else int(is_wrong)


def _report_environments(run: OpenRun, gate: Gate, options: judge.Judging, *, is_silent: bool) -> bool:
    """Write a report for each environment and a comparison for each but the first; was a variant wrong on one?"""
    from pyopbench.judge.requirements import remarks
    from pyopbench.report import write

    found, unmeasured = sides.find_measured(run)
    _warn_of_unmeasured(run, unmeasured)
    with err.status(escape(printable(f"judging {formatting.listing([side.label for side in found])}"))):
        judgements, across = write.report_versions(run, found, options, gate, unmeasured)
    for warning in dict.fromkeys(warning for judgement in judgements for warning in judgement.run.warnings):
        say(f"[yellow]warning:[/] {escape(warning.text())}", err)
    if not is_silent:
        _print_answers(found, judgements)
        for side in found[1:]:
            _compare(run.folder, across, side.label)
        for side, judgement in zip(found, judgements, strict=True):
            failed = [failure for failure in judgement.run.failures if failure.status != "unsupported"]
            required = remarks(judgement)
            if failed or required:
                out.print(f"On {side.label}:")
            for sentence in required:
                say(escape(sentence))
            print_failures(failed)
            path = report_folder(run.folder, side.label) / "report.html"
            out.print(f"report of {side.label}: {escape(str(path))}", soft_wrap=True)
    return any(map(stored_run.found_wrong, run.measured))


def _warn_of_unmeasured(run: OpenRun, whys: Mapping[str, str]) -> None:
    for version in (one.side for one in run.measured if one.side.label in whys):
        say(f"[yellow]warning:[/] nothing was measured on {version.label}: {escape(whys[version.label])}", err)
        on = "" if version.tf is None else f" --tf {version.tf}"
        what = f"pyopbench verify{on} shows what is wrong"
        say(what, err, mark=detail_label("next"))


def _print_answers(found: Sequence[Side], judgements: Sequence[Judgement]) -> None:

    settings = dict.fromkeys(
        (one.op, one.use, one.mode, one.dtype) for judgement in judgements for one in judgement.decisions
    )
    answers = [
        {(one.op, one.use, one.mode, one.dtype): one.answer.text() for one in judgement.decisions}
        for judgement in judgements
    ]
    # Mode and dtype are shown where there are several.
    shown = [place for place in range(4) if place < 2 or len({setting[place] for setting in settings}) > 1]
    names = [("op", "use", "mode", "dtype")[place] for place in shown]
    rows = [
        (*(setting[place] for place in shown), *(told.get(setting, "not measured") for told in answers))
        for setting in settings
    ]
    print_table("What to do, by side", (*names, *(one.label for one in found)), rows)


def _compare(folder: Path, across: VersionComparison, label: str) -> None:
    from pyopbench.report.write import comparison_path

    told = across.comparisons.get(label)
    if told is None:
        say_error(across.unmatched[label], "[yellow]warning:[/]")
        return
    path = comparison_path(folder, across, label)
    print_comparison(told, f"The whole table: {path}\n")


def print_gate(gate: Gate, folder: Path) -> None:
    """Print the result: the answer, changed values, what cannot be measured, the cases, and the control."""
    from pyopbench.judge.comparison import gate as wording
    from pyopbench.report import gate as report

    style = {"passed": "green", "failed": "red", "nothing": "yellow"}[gate.outcome]
    say(f"[bold {style}]{escape(gate.answer_text())}[/]\n")
    warning = gate.warning_text()
    if warning:
        say(f"[yellow]{escape(warning)}[/]\n")
    for version in (gate.first, *gate.others):
        out.print(escape(wording.name_text(version)), soft_wrap=True)
    out.print()
    for finding in report.findings(gate):
        say(escape(finding), mark="- ")
    say(escape(gate.values_text()), mark="- ")
    out.print()
    _print_cases(gate)
    for sentence in (gate.reach_text(), gate.control_text(), gate.machine_text()):
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
        shared, columns = comparison.shared_parts([case.case for case in found.cases]), comparison.COLUMNS
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

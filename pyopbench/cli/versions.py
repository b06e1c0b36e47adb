"""What `pyopbench run --tf` prints: what to do on each version of TensorFlow, and what changed between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench.cli.compare import print_comparison
from pyopbench.cli.output import err, out, print_failures, print_table, say, say_error
from pyopbench.engine import plan, stored_run
from pyopbench.judge import judge
from pyopbench.model import formatting
from pyopbench.model.errors import detail_label
from pyopbench.model.printable import printable
from pyopbench.store import versions
from pyopbench.store.versions import Version

if TYPE_CHECKING:
    from pyopbench.judge.comparison.versions import VersionComparison
    from pyopbench.judge.decide import Judgement


def report_versions(folder: Path, options: judge.Judging) -> int:
    """Write a report for each version and a comparison with the first for each other one; return the exit code."""
    from pyopbench.report import write
    from pyopbench.report.sections._required import remarks
    from pyopbench.report.wording.warnings import warning_text

    found, unmeasured = plan.find_measured(folder)
    _warn_of_unmeasured(folder, unmeasured)
    with err.status(escape(printable(f"judging {formatting.listing([version.label for version in found])}"))):
        judgements, across = write.report_versions(folder, found, options, unmeasured)
    for warning in dict.fromkeys(warning for judgement in judgements for warning in judgement.run.warnings):
        say(f"[yellow]warning:[/] {escape(warning_text(warning))}", err)
    _print_answers(found, judgements)
    for version in found[1:]:
        _compare(folder, across, version.label)
    for version, judgement in zip(found, judgements, strict=True):
        failed = [failure for failure in judgement.run.failures if failure.status != "unsupported"]
        required = remarks(judgement)
        if failed or required:
            out.print(f"On {version.label}:")
        for sentence in required:
            say(escape(sentence))
        print_failures(failed)
        out.print(f"report of {version.label}: {escape(str(version.folder / 'report.html'))}", soft_wrap=True)
    return int(any(stored_run.found_wrong(version.folder) for version in versions.read(folder)))


def _warn_of_unmeasured(folder: Path, whys: Mapping[str, str]) -> None:
    for version in (one for one in versions.read(folder) if one.label in whys):
        say(f"[yellow]warning:[/] nothing was measured on {version.label}: {escape(whys[version.label])}", err)
        what = f"pyopbench verify --tf {version.tf} shows what is wrong"
        say(what, err, mark=detail_label("next"))


def _print_answers(found: Sequence[Version], judgements: Sequence[Judgement]) -> None:
    from pyopbench.report.wording.decisions import answer_text

    settings = dict.fromkeys(
        (one.op, one.use, one.mode, one.dtype) for judgement in judgements for one in judgement.decisions
    )
    answers = [
        {(one.op, one.use, one.mode, one.dtype): answer_text(one.answer) for one in judgement.decisions}
        for judgement in judgements
    ]
    # Mode and dtype are shown where there are several.
    shown = [place for place in range(4) if place < 2 or len({setting[place] for setting in settings}) > 1]
    names = [("op", "use", "mode", "dtype")[place] for place in shown]
    rows = [
        (*(setting[place] for place in shown), *(told.get(setting, "not measured") for told in answers))
        for setting in settings
    ]
    print_table("What to do, by TensorFlow version", (*names, *(one.label for one in found)), rows)


def _compare(folder: Path, across: VersionComparison, label: str) -> None:
    from pyopbench.report.write import comparison_path

    told = across.comparisons.get(label)
    if told is None:
        say_error(across.unmatched[label], "[yellow]warning:[/]")
        return
    path = comparison_path(folder, across, label)
    print_comparison(told, f"The whole table: {path}\n")

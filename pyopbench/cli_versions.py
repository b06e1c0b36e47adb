"""What `pyopbench run --tf` prints: what to do on each version of TensorFlow, and what changed between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from pyopbench import judging, runs, versions
from pyopbench.cli_compare import print_contrast
from pyopbench.cli_output import err, out, print_failures, print_table
from pyopbench.errors import NothingMeasured
from pyopbench.versions import Version

if TYPE_CHECKING:
    from pyopbench.decide import Judgement


def report_versions(folder: Path, options: judging.Judging) -> int:
    """Write a report for each version and a comparison with the first for each other one; return the exit code."""
    found = versions.read(folder)
    for version in found:
        runs.require_measured(version.folder)
    judgements = []
    for version in found:
        with err.status(f"judging {version.label}"):
            judgements.append(judging.report([version.folder], version.folder, options))
    _print_answers(found, judgements)
    for version in found[1:]:
        _compare(folder, found[0], version, options)
    for version, judgement in zip(found, judgements, strict=True):
        failed = [failure for failure in judgement.run.failures if failure.status != "unsupported"]
        if failed:
            out.print(f"On {version.label}:")
            print_failures(failed)
        out.print(f"report of {version.label}: {escape(str(version.folder / 'report.html'))}", soft_wrap=True)
    return int(any(failure.status == "wrong" for one in judgements for failure in one.run.failures))


def _print_answers(found: Sequence[Version], judgements: Sequence[Judgement]) -> None:
    settings = dict.fromkeys(
        (one.op, one.use, one.mode, one.dtype) for judgement in judgements for one in judgement.decisions
    )
    answers = [
        {(one.op, one.use, one.mode, one.dtype): one.answer for one in judgement.decisions} for judgement in judgements
    ]
    rows = [(*setting[:2], *(told.get(setting, "not measured") for told in answers)) for setting in settings]
    print_table("What to do, by version of TensorFlow", ("op", "use", *(one.label for one in found)), rows)


def _compare(folder: Path, first: Version, other: Version, options: judging.Judging) -> None:
    from pyopbench import contrast_texts
    from pyopbench.axes import read_sides
    from pyopbench.contrast import contrast

    try:
        told = contrast(read_sides([str(folder), first.label, other.label], "tf"), options.minimum_effect)
    except NothingMeasured as error:
        err.print(f"[yellow]warning:[/] {escape(str(error))}", soft_wrap=True)
        return
    again = f"pyopbench compare {folder} {first.label} {other.label} --axis tf"
    path = folder / f"compare-{first.label}-{other.label}.md"
    path.write_text(contrast_texts.markdown(told, f"Again: `{again}`"), encoding="utf-8")
    print_contrast(told, f"The whole table: {path}\n")

"""The op in an input pipeline; only where `pyopbench pipeline` has made the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge import pipeline as wording
from pyopbench.report.charts.pipeline import throughput_chart
from pyopbench.report.pipeline import report_of
from pyopbench.report.sections import Block, Bullets, Chart, Paragraph, Section, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the answer for the pipeline, why, the charts and the table of its own report."""
    found = judgement.pipeline
    if found is None:
        return ()
    report = report_of(found)
    left_out = [Table(("arrangement", "why"), report.left_out, "Left out", folded=True, says_why=True)]
    return (
        Paragraph(f"{report.title}: {report.answer}"),
        Bullets(report.sentences),
        Chart(throughput_chart(found), wording.THROUGHPUT_ALT),
        Table(report.columns, report.rows, "Elements a second by arrangement"),
        *(left_out if report.left_out else []),
    )


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the answer, why, and the table; nothing where the op was not measured in a pipeline."""
    found = judgement.pipeline
    if found is None:
        return ()
    report = report_of(found)
    table = Table(report.columns, report.rows, "Elements a second by arrangement")
    return Paragraph(f"{report.title}: {report.answer}"), Bullets(report.sentences), table


SECTION = Section("pipeline", "In an input pipeline", 27, build, brief)

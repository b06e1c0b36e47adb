"""Writes the report of an op in an input pipeline: HTML with pictures, Markdown, and JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path

from markupsafe import Markup

from pyopbench.judge.pipeline import PipelineJudgement
from pyopbench.model.printable import printable
from pyopbench.model.write_file import write_atomically
from pyopbench.report import page
from pyopbench.report.charts.picture import picture
from pyopbench.report.charts.pipeline import scaling_chart, throughput_chart
from pyopbench.report.pipeline import PipelineReport, as_data, as_markdown, report_of
from pyopbench.report.sections import Paragraph, Table
from pyopbench.store import integrity

MARKDOWN, HTML, DECISION = "pipeline.md", "pipeline.html", "pipeline-decision.json"


def render(judgement: PipelineJudgement) -> dict[str, str]:
    """Return the report as texts by file name."""
    report = report_of(judgement)
    charts = [throughput_chart(judgement)]
    if judgement.lock is not None and judgement.lock.is_known:
        charts.append(scaling_chart(judgement.lock))
    pictures = [Markup(picture(chart)) for chart in charts]
    template = page.environment(autoescape=True).get_template("pipeline.html.j2")
    shown = {"report": report, "sentences": [Paragraph(one) for one in report.sentences], "tables": _tables(report)}
    html = template.render(**shown, charts=pictures, policy="", style=Markup(page.source("page.css")))
    return {
        MARKDOWN: printable(as_markdown(report)),
        HTML: printable(html) + "\n",
        DECISION: integrity.sealed(json.dumps(as_data(judgement), indent=1)).decode(),
    }


def _tables(report: PipelineReport) -> list[Table]:
    tables = [Table(report.columns, report.rows, "Arrangements, fastest first")]
    if report.left_out:
        tables.append(Table(("arrangement", "why"), report.left_out, "Not measured"))
    return tables


def write(judgement: PipelineJudgement, folder: Path) -> tuple[Path, ...]:
    """Write the files of `render` into a folder, each of them whole or not at all; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    contents = render(judgement)
    for name, content in contents.items():
        write_atomically(folder / name, content.encode())
    return tuple(folder / name for name in contents)

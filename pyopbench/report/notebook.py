"""What a notebook shows of results: the answer and the charts, as HTML that needs no script and no other file.

Colours are those of the notebook around it, light or dark. Charts are pictures: Vega's script alone is a megabyte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from pyopbench.judge.comparison.diff import notes_of, text_of
from pyopbench.model.printable import printable
from pyopbench.report import comparison as as_text
from pyopbench.report import gate as as_gate
from pyopbench.report import page
from pyopbench.report.charts.picture import picture
from pyopbench.report.charts.pipeline import scaling_chart, throughput_chart
from pyopbench.report.pipeline import report_of
from pyopbench.report.sections import Block, Bullets, Chart, Heading, Paragraph, Table, decisions, latency, versions

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import Comparison
    from pyopbench.judge.comparison.gate import Gate
    from pyopbench.judge.comparison.versions import VersionComparison
    from pyopbench.judge.judge import Judgement
    from pyopbench.judge.pipeline import PipelineJudgement

MOST_CHARTS = 4
"""So many ops have their chart of time against size; the report has all."""
MOST_CASES = 30
"""So many cases of a comparison are shown, the worst first, and all that are slower; its frame has all."""


def run_html(judgement: Judgement) -> str:
    """Return the answers at a glance, what they save, and of each op how long a call takes."""
    answer = tuple(takewhile(lambda block: not isinstance(block, Heading), decisions.build(judgement)))
    charts = [block for block in latency.build(judgement) if isinstance(block, Chart)]
    left = len(charts) - MOST_CHARTS
    more = (Paragraph(f"Charts of {left:,} more ops are in the report.", "muted"),) if left > 0 else ()
    return _html((*answer, *charts[:MOST_CHARTS], *more))


def comparison_html(comparison: Comparison) -> str:
    """Return what was compared, how many cases have which outcome, and the cases, the worst first."""
    return _html(_compared(comparison), comparison.summary())


def versions_html(judgement: Judgement, across: VersionComparison) -> str:
    """Return the answers on each version of TensorFlow, and what changed from the first to each other one."""
    changes = (block for one in across.comparisons.values() for block in _compared(one))
    return _html((*versions.brief(judgement, across), *changes))


def gate_html(gate: Gate) -> str:
    """Return what came of revisions, what there is to say of them, and their cases, the worst first."""
    warning = gate.warning_text()
    said = [*((warning,) if warning else ()), *as_gate.findings(gate), gate.values_text(), gate.reach_text()]
    changes = (block for one in gate.comparisons.values() for block in _compared(one))
    control = Paragraph(gate.control_text(), "muted")
    return _html((Bullets(tuple(said)), *changes, control), gate.answer_text())


def pipeline_html(judgement: PipelineJudgement) -> str:
    """Return the answer, why, and how many elements a second each arrangement delivers."""
    report = report_of(judgement)
    charts = [Chart(throughput_chart(judgement), "Elements a second by arrangement, with the 95% interval.")]
    if judgement.lock is not None and judgement.lock.is_known:
        charts.append(Chart(scaling_chart(judgement.lock), "What several threads or processes bring."))
    sentences = (Paragraph(one) for one in report.sentences)
    table = Table(report.columns, report.rows, report.title)
    return _html((*sentences, *charts, table), report.answer)


def _compared(comparison: Comparison) -> tuple[Block, ...]:
    rows = as_text.rows(comparison)
    shown = rows[: max(MOST_CASES, comparison.counts()["slower"])]
    notes = tuple(Paragraph(text_of(note), "muted") for note in notes_of(comparison))
    shared = as_text.shared_parts([case.key for case in comparison.cases])
    table = Table(as_text.COLUMNS, shown, f"Worst first{shared and f'; all are {shared}'}")
    return (Paragraph(comparison.title()), *notes, table)


def _html(blocks: Sequence[Block], lead: str = "") -> str:
    environment = page.environment(autoescape=True, picture=_picture)
    found = environment.get_template("notebook.html.j2").render(blocks=blocks, lead=lead)
    return printable(found)


def _picture(spec: Mapping[str, Any]) -> Markup:
    return Markup(picture(spec))

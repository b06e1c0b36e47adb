"""How long a call takes on each version of TensorFlow; only for a run on several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.report.charts.latency import version_chart
from pyopbench.report.charts.style import styles
from pyopbench.report.sections import Block, Cell, Chart, Heading, Paragraph, Table, VersionsSection
from pyopbench.report.sections._places import FIELDS, Places, cost, records_in, unit_of
from pyopbench.report.sections.versions import OUTCOME_TONES, places_across

if TYPE_CHECKING:
    from pyopbench.judge.comparison.diff import ComparedCase
    from pyopbench.judge.comparison.versions import VersionComparison
    from pyopbench.judge.judge import Judgement
    from pyopbench.judge.verdicts import CaseVerdict


def build(judgement: Judgement, across: VersionComparison) -> Sequence[Block]:
    """Return for each op a chart of latency by version, and the same as a table with ratios to the first version."""
    if len(across.versions) == 1:
        return ()
    places = places_across(across)
    ops = dict.fromkeys(str(op) for one in across.versions for op in one.latencies["op"])
    intro = Paragraph(
        "Time per call by side, at the smallest and the largest size: geometric mean over launches with "
        f"its 95% interval. The table has every size, with the ratio to {across.labels[0]} over pairs of launches; its "
        "interval is corrected for all comparisons of a version."
    )
    return (intro, *(block for op in ops for block in _op(judgement, across, op, places)))


def _op(judgement: Judgement, across: VersionComparison, op: str, places: Places) -> Sequence[Block]:
    rows = [
        {**row, "version": one.label}
        for one in across.versions
        for row in places.in_panels(records_in(one.latencies, op))
    ]
    unit = unit_of(judgement, op)
    pinned = styles(judgement.run.catalogue.variants, {row["label"] for row in rows})
    drawn = _at_ends(rows, unit)
    table = _table(across, op, rows, places, unit)
    if not drawn:
        return (Heading(op, of_op=True), table)
    spec = version_chart(drawn, pinned, judgement.baseline, across.labels)
    return (Heading(op, of_op=True), Chart(spec, _alt(across, op, drawn)), table)


def _at_ends(rows: Sequence[Mapping[str, Any]], unit: str) -> list[dict[str, Any]]:
    """Return the rows of the smallest and the largest size, each with the size in its panel where there are two."""
    sizes = {row["size"] for row in rows}
    ends = {min(sizes), max(sizes)}
    kept = ("panel", "direction", *FIELDS, "label", "size", "version", "seconds", "low", "high")
    told = [row for row in rows if row["size"] in ends and not row["too_noisy"]]
    at_ends = sorted(told, key=lambda row: row["size"])
    return [
        {
            **{key: row[key] for key in kept},
            "panel": row["panel"] if len(ends) == 1 else f"{row['panel']} · {formatting.sized(row['size'], unit)}",
        }
        for row in at_ends
    ]


def _alt(across: VersionComparison, op: str, drawn: Sequence[Mapping[str, Any]]) -> str:
    labels = {row["label"] for row in drawn}
    changed = [label for label, one in across.comparisons.items() if _changed(one.cases, op)]
    told = f"Clear changes: {formatting.listing(changed)}." if changed else "No version differs clearly."
    return (
        f"Time per call of {op} for {formatting.count(len(labels), 'variant')} on TensorFlow "
        f"{formatting.listing(across.labels)}. "
        f"{told}"
    )


def _changed(cases: Sequence[ComparedCase], op: str) -> bool:
    return any(case.key.parts[:1] == (op,) and case.verdict.outcome in ("slower", "faster") for case in cases)


def _table(across: VersionComparison, op: str, rows: Sequence[Mapping[str, Any]], places: Places, unit: str) -> Table:
    """Return a row for each case and a column for each version, folded."""
    verdicts = {
        (label, str(case.key)): case.verdict
        for label, comparison in across.comparisons.items()
        for case in comparison.cases
    }
    cases: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        cases.setdefault(row["case"], {})[row["version"]] = row
    lines = []
    for case, found in cases.items():
        row = next(iter(found.values()))
        where = (formatting.direction(row["direction"]), *places.of(row), row["label"])
        head = (*where, formatting.size(row["size"]))
        lines.append((*head, *(_cell(found.get(label), verdicts.get((label, case))) for label in across.labels)))
    columns = ("direction", *places.varying, "variant", unit, *across.labels)
    caption = f"{op}: time per call by version of TensorFlow, and its ratio to {across.labels[0]}"
    return Table(columns, tuple(lines), caption, folded=True, headings=3 + len(places.varying))


def _cell(row: Mapping[str, Any] | None, verdict: CaseVerdict | None) -> Cell | str:
    if row is None:
        return Cell(formatting.MISSING, "muted")
    if verdict is None or row["too_noisy"]:
        return cost(row)
    ratio = formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)
    note = f"{ratio} {verdict.outcome}"
    return Cell(formatting.seconds(row["seconds"]), OUTCOME_TONES[verdict.outcome], note)


SECTION = VersionsSection("by_version", "Time per call by version of TensorFlow", 22, build)

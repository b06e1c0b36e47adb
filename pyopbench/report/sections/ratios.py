"""How much faster or slower than the current callback."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Heading, Paragraph, Section, Tone
from pyopbench.report.sections._places import Places, by_size, parsed, places_of, unit_of

if TYPE_CHECKING:
    from pyopbench.judge.decision import Verdict
    from pyopbench.judge.judge import Judgement

TONES: dict[str, Tone] = {"faster": "good", "slower": "bad", "equivalent": "", "unresolved": "warn"}


def build(judgement: Judgement) -> Sequence[Block]:
    """Return for each op the verdicts on its variants as tables."""
    if not judgement.verdicts:
        return (Paragraph(f"Nothing could be compared with {judgement.baseline}.", "warn"),)
    places = places_of(judgement)
    by_op: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(judgement):
        by_op.setdefault(row["op"], []).append(row)
    effect = formatting.percent(judgement.minimum_effect)
    how = "paired within launches" if judgement.run.tool == "pyopbench" else "each timed on its own"
    intro = Paragraph(
        f"Time per call relative to {judgement.baseline}, {how}, with its 95% interval; below 1 is faster. "
        f"Differences within ±{effect} are too small to matter. A verdict is unresolved if its interval, corrected for "
        f"{formatting.count(len(judgement.verdicts), 'verdict')}, crosses that limit."
    )
    return (
        intro,
        *(block for op, rows in by_op.items() for block in _op(judgement, op, places.in_panels(rows), places)),
    )


def _op(judgement: Judgement, op: str, rows: Sequence[dict[str, Any]], places: Places) -> Sequence[Block]:
    unit = unit_of(judgement, op)
    caption = f"{op}: time relative to {judgement.baseline} (95% interval) and verdict, by {unit}"
    table = by_size(rows, places, _cell, caption)
    return (
        Heading(op, of_op=True),
        Paragraph(_counts(rows)),
        table,
        *_unresolved(op, rows, places),
    )


JUDGED = ("ratio", "low", "high", "outcome", "reason", "needed", "launches")


def _rows(judgement: Judgement) -> list[dict[str, Any]]:
    labels = dict(zip(judgement.latencies["case"], judgement.latencies["label"], strict=True))
    found = (_row(verdict, labels) for verdict in judgement.verdicts)
    return [row for row in found if row is not None]


def _row(verdict: Verdict, labels: Mapping[str, str]) -> dict[str, Any] | None:
    case = parsed(verdict.case)
    if case is None:
        return None
    fields = {name: getattr(case, name) for name in ("op", "direction", "mode", "dtype", "size", "placement")}
    judged = {name: getattr(verdict, name) for name in JUDGED}
    return {**fields, **judged, "label": labels.get(verdict.case, case.variant)}


def _cell(row: Mapping[str, Any]) -> Cell | str:
    shown = f"{formatting.ratio_interval(row['ratio'], row['low'], row['high'])} {row['outcome']}"
    return Cell(shown, TONES[row["outcome"]])


def _counts(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = Counter(row["outcome"] for row in rows)
    listed = formatting.listing([f"{counts[outcome]} {outcome}" for outcome in TONES if counts[outcome]])
    return f"{formatting.count(len(rows), 'verdict')}: {listed}."


def _unresolved(op: str, rows: Sequence[dict[str, Any]], places: Places) -> Sequence[Block]:
    """Return a folded table of the verdicts that are open: about how many launches would settle each, or why none."""
    left = [row for row in rows if row["outcome"] == "unresolved"]
    return (by_size(left, places, _settling, f"{op}: launches that would settle the rest"),) if left else ()


def _settling(row: Mapping[str, Any]) -> str:
    if row["needed"] is None:
        return str(row["reason"].text())
    return f"about {row['needed']:,}, not {row['launches']:,}"


SECTION = Section("ratios", "Ratio to the current callback", 30, build)

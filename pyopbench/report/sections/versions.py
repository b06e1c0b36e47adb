"""The answers on each side, and the changes between them; only for a run on several environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.comparison.diff import ComparedCase, Comparison, reach_of
from pyopbench.model import formatting
from pyopbench.report import comparison as table
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Table, Tone
from pyopbench.report.sections.answer import TONES
from pyopbench.report.sections.places import FIELDS, places_of, saves

if TYPE_CHECKING:
    from pyopbench.judge.comparison.gate import VersionComparison
    from pyopbench.judge.decision import Decision

OUTCOME_TONES: Mapping[str, Tone] = {"faster": "good", "slower": "bad"}
MOST_CHANGES = 20
"""So many changes of a side are listed, the worst first; compare-A-B.md has all cases."""


def build(across: VersionComparison) -> Sequence[Block]:
    """Return the answer on each side, and the cases that are shown to have changed."""
    changes = (block for label, compared in across.comparisons.items() for block in _changes(across, label, compared))
    missing = (Paragraph(text, "warn") for text in _missing(across))
    return (Paragraph(_intro(across)), answers(across), *changes, *missing)


def brief(across: VersionComparison) -> Sequence[Block]:
    """Return the answers, and in a line for each side what changed."""
    texts = [f"{label} against {across.labels[0]}: {_summary(one)}" for label, one in across.comparisons.items()]
    texts += _missing(across)
    return (answers(across), *((Bullets(tuple(texts)),) if texts else ()))


def _missing(across: VersionComparison) -> list[str]:
    """Say which sides cannot be compared, and why."""
    unmatched = (f"{label}: {error.in_a_line}" for label, error in across.unmatched.items())
    unmeasured = (f"nothing was measured on {label}: {why}" for label, why in across.unmeasured.items())
    return [*unmatched, *unmeasured]


def _intro(across: VersionComparison) -> str:
    if len(across.judgements) == 1:
        return f"Only {across.shown} was measured, so there is nothing to compare."
    numpys = {label: one.run.environment.get("numpy") for label, one in across.judgements.items()}
    numpy = formatting.listing([f"NumPy {version} with {label}" for label, version in numpys.items() if version])
    return (
        f"Launches on {formatting.listing(across.labels)} were interleaved in random order, so each side is compared "
        f"with {across.labels[0]} in pairs. The rest of this report is about {across.shown}."
        f"{f' Each side has its own NumPy: {numpy}.' if numpy else ''}"
    )


def answers(across: VersionComparison) -> Table:
    """Return what to do on each side: a row for each op, use and place."""
    by_side = [{_key(one): one for one in version.decisions} for version in across.judgements.values()]
    places = places_of(*across.judgements.values())
    rows = []
    for key in dict.fromkeys(key for decisions in by_side for key in decisions):
        found = [decisions.get(key) for decisions in by_side]
        one = next(decision for decision in found if decision is not None)
        rows.append((Cell(one.op, op=one.op), one.use, *places.of(one), *map(_answer, found)))
    columns = ("op", "use", *places.varying, *across.labels)
    return Table(columns, tuple(rows), "What to do, by side", headings=2 + len(places.varying))


def _key(decision: Decision) -> tuple[str, ...]:
    return (decision.op, decision.use, *(str(getattr(decision, field)) for field in FIELDS))


def _answer(decision: Decision | None) -> Cell:
    if decision is None:
        return Cell("not measured", "muted")
    note = "" if decision.choice is None else f"saves {saves(decision)}"
    return Cell(decision.answer.text(), TONES[decision.action], note)


def _summary(comparison: Comparison) -> str:
    return f"{comparison.summary()} {reach_of(comparison).text()}"


def _changes(across: VersionComparison, label: str, compared: Comparison) -> Sequence[Block]:
    first = across.labels[0]
    text = Paragraph(f"{label} against {first}: {_summary(compared)}")
    changed = [case for case in compared.cases if case.verdict.outcome in OUTCOME_TONES]
    if not changed:
        return (text,)
    more = f", the first {MOST_CHANGES} of {len(changed):,}" if len(changed) > MOST_CHANGES else ""
    names = table.short_names([case.case for case in changed])
    rows = tuple(_change(case, name) for case, name in zip(changed[:MOST_CHANGES], names, strict=False))
    shared = table.shared_parts([case.case for case in changed])
    caption = f"What changed from {first} to {label}{more}{shared and f'; all are {shared}'}"
    return text, Table(("case", first, label, f"{label} / {first}"), rows, caption)


def _change(case: ComparedCase, name: str) -> tuple[Cell | str, ...]:
    verdict = case.verdict
    ratio = formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)
    seconds = (formatting.seconds(case.first_seconds), formatting.seconds(case.second_seconds))
    return (name, *seconds, Cell(f"{ratio} {verdict.outcome}", OUTCOME_TONES[verdict.outcome]))

"""What to do on each version of TensorFlow, and what changed between them; only for a run on several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.comparison.diff import ComparedCase, Comparison, reach_of
from pyopbench.model import formatting
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Table, Tone, VersionsSection
from pyopbench.report.sections._places import FIELDS, Places, parsed, varying_in
from pyopbench.report.sections.decisions import TONES, place_of

if TYPE_CHECKING:
    from pyopbench.judge.comparison.versions import VersionComparison
    from pyopbench.judge.decision import Decision
    from pyopbench.judge.judge import Judgement

OUTCOME_TONES: Mapping[str, Tone] = {"faster": "good", "slower": "bad", "unresolved": "", "equivalent": ""}
FOUND = ("slower", "faster")
MOST_CHANGES = 20
"""So many changes of a version are listed, the worst first; all are on the pages of the ops."""


def build(judgement: Judgement, across: VersionComparison) -> Sequence[Block]:
    """Return the answer on each version, and the cases that are shown to have changed."""
    changes = (block for label, found in across.comparisons.items() for block in _changes(across, label, found))
    missing = tuple(Paragraph(sentence, "warn") for sentence in _missing(across))
    return (Paragraph(_intro(across)), _answers(across), *changes, *missing)


def brief(judgement: Judgement, across: VersionComparison) -> Sequence[Block]:
    """Return the answers, and in a line for each version what changed."""
    told = tuple(f"{label} against {across.labels[0]}: {_told(one)}" for label, one in across.comparisons.items())
    told = (*told, *_missing(across))
    return (_answers(across), *((Bullets(told),) if told else ()))


def _missing(across: VersionComparison) -> tuple[str, ...]:
    """Say which versions cannot be compared, and why."""
    unmatched = (f"{label}: {error.in_a_line}" for label, error in across.unmatched.items())
    unmeasured = (f"nothing was measured on {label}: {why}" for label, why in across.unmeasured.items())
    return (*unmatched, *unmeasured)


def _intro(across: VersionComparison) -> str:
    if len(across.versions) == 1:
        return f"Only {across.shown} was measured, so there is nothing to compare."
    brought = formatting.listing([f"NumPy {one.numpy} with {one.label}" for one in across.versions if one.numpy])
    return (
        f"Launches on {formatting.listing(across.labels)} were interleaved in random order, so each side "
        f"is compared with {across.labels[0]} in pairs. The rest of this report is about {across.shown}."
        f"{f' Each side has its own NumPy: {brought}.' if brought else ''}"
    )


def _answers(across: VersionComparison) -> Table:
    made = [{_setting(one): one for one in version.decisions} for version in across.versions]
    settings = dict.fromkeys(setting for decisions in made for setting in decisions)
    places = places_across(across)
    rows = []
    for setting in settings:
        found = [decisions.get(setting) for decisions in made]
        one = next(decision for decision in found if decision is not None)
        rows.append((Cell(one.op, op=one.op), one.use, *place_of(one, places), *map(_answer, found)))
    columns = ("op", "use", *places.varying, *across.labels)
    return Table(columns, tuple(rows), "What to do, by side", headings=2 + len(places.varying))


def places_across(across: VersionComparison) -> Places:
    """Return which of mode, dtype and placement vary over all versions."""
    return varying_in((one.latencies, one.decisions) for one in across.versions)


def _setting(decision: Decision) -> tuple[str, ...]:
    return (decision.op, decision.use, *(str(getattr(decision, field)) for field in FIELDS))


def _answer(decision: Decision | None) -> Cell:
    if decision is None:
        return Cell("not measured", "muted")
    saved = "" if decision.choice is None else f"saves {formatting.saved_at_least(decision.saved, decision.saved_low)}"
    return Cell(decision.answer.text(), TONES[decision.action], saved)


def _told(comparison: Comparison) -> str:
    return f"{comparison.summary()} {reach_of(comparison).text()}"


def _changes(across: VersionComparison, label: str, comparison: Comparison) -> Sequence[Block]:
    first = across.labels[0]
    said = Paragraph(f"{label} against {first}: {_told(comparison)}")
    found = [case for case in comparison.cases if case.verdict.outcome in FOUND]
    if not found:
        return (said,)
    more = f", the first {MOST_CHANGES} of {len(found):,}" if len(found) > MOST_CHANGES else ""
    columns = ("op", "direction", "mode", "dtype", "size", "device", "variant", first, label, f"{label} / {first}")
    caption = f"What changed from {first} to {label}{more}"
    labels = _labels(across)
    return (said, Table(columns, tuple(_change(case, labels) for case in found[:MOST_CHANGES]), caption, headings=7))


def _labels(across: VersionComparison) -> dict[str, str]:
    """Return the label of every case: variants that were measured with several gradients are told apart by it."""
    tables = [one.latencies for one in across.versions]
    return {case: label for table in tables for case, label in zip(table["case"], table["label"], strict=True)}


def _change(compared: ComparedCase, labels: Mapping[str, str]) -> tuple[Cell | str, ...]:
    verdict, name = compared.verdict, str(compared.key)
    case = parsed(name)
    where: tuple[Cell | str, ...] = (name, *[""] * 6)
    if case is not None:
        where = (
            Cell(case.op, op=case.op),
            formatting.direction(case.direction),
            case.mode,
            case.dtype,
            formatting.size(case.size),
            case.placement,
            labels.get(name, case.variant),
        )
    ratio = formatting.ratio_interval(verdict.ratio, verdict.low, verdict.high)
    seconds = (formatting.seconds(compared.first_seconds), formatting.seconds(compared.second_seconds))
    judged = Cell(f"{ratio} {verdict.outcome}", OUTCOME_TONES[verdict.outcome])
    return (*where, *seconds, judged)


SECTION = VersionsSection("versions", "Versions of TensorFlow", 13, build, brief)

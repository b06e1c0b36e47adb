"""The answer: what to do with each op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from pyopbench import text
from pyopbench.sections import Block, Bullets, Cell, Paragraph, Section, Table, Tone
from pyopbench.sections._places import FIELDS, Places, places_of, unit_of
from pyopbench.sections._required import blocked

if TYPE_CHECKING:
    from pyopbench.answers import Crossover, Decision
    from pyopbench.decide import Judgement

Rows: TypeAlias = tuple[tuple[Cell | str, ...], ...]

TONES: dict[str, Tone] = {"port": "good", "switch": "good", "keep": "", "undecided": "warn"}
SUMMARY = {"port": "to port", "switch": "to switch to another callback", "keep": "to keep", "undecided": "undecided"}
USES = ("inference", "training")
MOST_ROWS = 40
"""A longer table of details is folded."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the answers at a glance, then the evidence, then where they hold and what would change them."""
    warnings = tuple(Paragraph(f"Warning: {warning}", "warn") for warning in judgement.run.warnings)
    if not judgement.decisions:
        return (Paragraph("There is no decision: nothing that was measured bears on one.", "warn"), *warnings)
    decisions = judgement.decisions
    places = places_of(judgement)
    blocks = (_glance(decisions, places), _evidence(decisions, places), *_by_size(judgement, decisions, places))
    what = blocked(judgement)
    told = (Paragraph(what, "warn"),) if what else ()
    blocks = (*blocks, *_copies(judgement, decisions, places))
    return (_summary(decisions, judgement.baseline), *warnings, *told, *blocks, *_flips(decisions, places))


def place_of(decision: Decision, places: Places) -> tuple[str, ...]:
    """Return where a decision holds, as far as that varies."""
    return places.of({field: getattr(decision, field) for field in FIELDS})


def _summary(decisions: Sequence[Decision], baseline: str) -> Paragraph:
    counts = Counter[str](decision.action for decision in decisions)
    told = [f"{counts[action]:,} {words}" for action, words in SUMMARY.items() if counts[action]]
    ops = len({decision.op for decision in decisions})
    head = f"{text.count(len(decisions), 'decision')} on {text.count(ops, 'op')}"
    return Paragraph(
        f"{head}: {text.listing(told)}. A gain is time today, with {baseline}, over time afterwards: "
        "2× is half the time."
    )


def _glance(decisions: Sequence[Decision], places: Places) -> Table:
    answers: dict[tuple[str, ...], dict[str, Cell]] = {}
    for decision in decisions:
        line = answers.setdefault((decision.op, *place_of(decision, places)), {})
        line[decision.use] = Cell(_answer(decision), TONES[decision.action])
    uses = [use for use in USES if any(use in line for line in answers.values())]
    none = Cell(text.MISSING, "muted")
    rows: Rows = tuple((*head, *(line.get(use, none) for use in uses)) for head, line in answers.items())
    columns = ("op", *places.varying, *(f"for {use}" for use in uses))
    return Table(columns, rows, "Answers at a glance", headings=1 + len(places.varying))


def _answer(decision: Decision) -> str:
    if decision.choice is None:
        return decision.answer
    by_size = ", differs by size" if len(decision.ranges) > 1 else ""
    return f"{decision.answer}: {text.gain_at_least(decision.gain, decision.gain_low)}{by_size}"


def _evidence(decisions: Sequence[Decision], places: Places) -> Table:
    rows: Rows = tuple(
        (
            decision.op,
            decision.use,
            *place_of(decision, places),
            Cell(decision.answer, TONES[decision.action]),
            text.gain_at_least(decision.gain, decision.gain_low),
            text.interval(decision.gain_low, decision.gain_high),
            decision.reason,
        )
        for decision in decisions
    )
    columns = ("op", "use", *places.varying, "answer", "gain (lower bound)", "95% interval", "why")
    return Table(columns, rows, "The evidence", headings=2 + len(places.varying))


def _by_size(judgement: Judgement, decisions: Sequence[Decision], places: Places) -> Sequence[Block]:
    """Return the answers by size where they differ, and where the fastest variant changes."""
    rows = tuple(
        (
            decision.op,
            decision.use,
            *place_of(decision, places),
            f"{text.size_range(part.low, part.high)} {unit_of(judgement, decision.op)}",
            part.answer,
            text.gain_at_least(part.gain, part.gain_low),
        )
        for decision in decisions
        if len(decision.ranges) > 1
        for part in decision.ranges
    )
    columns = ("op", "use", *places.varying, "sizes", "answer", "gain")
    caption = "Where the answer depends on the size"
    return (*_details(columns, rows, caption, places), *_crossovers(judgement, decisions, places))


def _crossovers(judgement: Judgement, decisions: Sequence[Decision], places: Places) -> Sequence[Block]:
    items = tuple(
        f"{_name(decision, places)}: {crossover.before} is fastest below about {text.about_size(crossover.size)} "
        f"{unit_of(judgement, decision.op)}{_span(crossover)}, {crossover.after} above."
        for decision in decisions
        for crossover in decision.crossovers
    )
    return (
        (
            Paragraph("Where the fastest variant changes, with the sizes at which the 95% interval leaves it open:"),
            Bullets(items),
        )
        if items
        else ()
    )


def _span(crossover: Crossover) -> str:
    if crossover.low is None and crossover.high is None:
        return ""
    return f" ({text.about_sizes(crossover.low, crossover.high)})"


def _copies(judgement: Judgement, decisions: Sequence[Decision], places: Places) -> Sequence[Block]:
    """Return what each answer means where data live on a device, where copies were counted."""
    rows = tuple(
        (decision.op, decision.use, *place_of(decision, places), decision.answer, decision.copies)
        for decision in decisions
        if decision.copies
    )
    kind = "a simulated device" if (judgement.run.placement or {}).get("device") == "simulated" else "a GPU"
    columns = ("op", "use", *places.varying, "answer", "where there is a GPU")
    return _details(columns, rows, f"What an answer means where there is a GPU, by copies counted on {kind}", places)


def _flips(decisions: Sequence[Decision], places: Places) -> Sequence[Block]:
    rows = tuple(
        (decision.op, decision.use, *place_of(decision, places), decision.answer, flip)
        for decision in decisions
        for flip in decision.flips
        if flip not in decision.reason
    )
    columns = ("op", "use", *places.varying, "answer", "what would change it")
    return _details(columns, rows, "What would change an answer", places)


def _details(columns: tuple[str, ...], rows: Rows, caption: str, places: Places) -> Sequence[Block]:
    """Return a table of what there is to tell beyond the answers, or nothing."""
    folded = len(rows) > MOST_ROWS
    return (Table(columns, rows, caption, folded=folded, headings=2 + len(places.varying)),) if rows else ()


def _name(decision: Decision, places: Places) -> str:
    return ", ".join((decision.op, decision.use, *place_of(decision, places)))


SECTION = Section("decisions", "What to do", 10, build)

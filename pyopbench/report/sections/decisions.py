"""The answer: what to do with each op."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from pyopbench.judge.findings import summary_text
from pyopbench.judge.ports import writable_ports
from pyopbench.model import formatting
from pyopbench.report.charts.gains import gain_chart
from pyopbench.report.sections import Block, Cell, Chart, Heading, Paragraph, Section, Table, Tone
from pyopbench.report.sections._places import FIELDS, Places, places_of, unit_of

if TYPE_CHECKING:
    from pyopbench.judge.decision import Decision, SizeSeconds
    from pyopbench.judge.judge import Judgement

Rows: TypeAlias = tuple[tuple[Cell | str, ...], ...]

TONES: dict[str, Tone] = {"port": "good", "switch": "good", "keep": "", "undecided": "warn"}
USES = ("inference", "training")
OPEN = "undecided"
MOST_ROWS = 8
"""A longer table of details is folded, so that charts stay near."""


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the answers at a glance, what they gain, and the evidence for each op."""
    decisions = judgement.decisions
    if not decisions:
        return () if judgement.run.pipeline is not None else _head(judgement)  # that has an answer of its own
    places = places_of(judgement)
    ops = {op: [one for one in decisions if one.op == op] for op in dict.fromkeys(one.op for one in decisions)}
    pages = (block for op, mine in ops.items() for block in _page(judgement, op, mine, places))
    return (*_head(judgement), _glance(judgement, ops), *_noise(judgement), *_gains(judgement, places), *pages)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return the answers at a glance, and what is to be known about them; reasons are on the pages of the ops."""
    decisions = judgement.decisions
    if not decisions and judgement.run.pipeline is not None:
        return ()
    ops = {op: [one for one in decisions if one.op == op] for op in dict.fromkeys(one.op for one in decisions)}
    return (*_head(judgement), *((_glance(judgement, ops),) if ops else ()), *_noise(judgement))


def place_of(decision: Decision, places: Places) -> tuple[str, ...]:
    """Return where a decision holds, as far as that varies."""
    return places.of({field: getattr(decision, field) for field in FIELDS})


def _head(judgement: Judgement) -> tuple[Block, ...]:
    warnings = tuple(Paragraph(f"Warning: {warning.text()}", "warn") for warning in judgement.run.warnings)
    if not judgement.decisions:
        return (
            Paragraph("There is no decision, because no variant was measured alongside the callback.", "warn"),
            *warnings,
        )
    decisions = judgement.decisions
    ops = len({decision.op for decision in decisions})
    summary = summary_text([decision.action for decision in decisions], ops, judgement.baseline)
    return (Paragraph(summary), *warnings)


def _noise(judgement: Judgement) -> Sequence[Block]:
    warning = judgement.machine.warning_text() if judgement.machine else ""
    return (Paragraph(warning, "warn"),) if warning else ()


def _glance(judgement: Judgement, ops: dict[str, list[Decision]]) -> Table:
    uses = [use for use in USES if any(one.use == use for mine in ops.values() for one in mine)]
    rows: Rows = tuple(
        (
            Cell(op, op=op),
            *(_over_places([one for one in mine if one.use == use]) for use in uses),
            _confidence(mine),
        )
        for op, mine in ops.items()
    )
    columns = ("op", *(f"for {use}" for use in uses), "confidence")
    return Table(columns, rows, "Answers at a glance")


def _over_places(decisions: Sequence[Decision]) -> Cell:
    """Return the answer where all places have the same, with what is saved at least; else what they have."""
    if not decisions:
        return Cell(formatting.MISSING, "muted")
    answers = Counter(one.answer for one in decisions)
    if len(answers) > 1:
        told = formatting.listing([f"{answer.text()} in {n}" for answer, n in answers.most_common()])
        return Cell("depends", "warn", f"{told} of {len(decisions)} settings")
    least = min(decisions, key=lambda one: (one.saved_low or 0.0, one.saved or 0.0))
    if least.choice is None:
        return Cell(least.answer.text(), TONES[least.action])
    settings = f" or more in {len(decisions)} settings" if len(decisions) > 1 else ""
    by_size = ", differs by size" if any(len(one.ranges) > 1 for one in decisions) else ""
    saved = f"saves {formatting.saved_at_least(least.saved, least.saved_low)}{settings}{by_size}"
    provisional = ", provisional" if any(one.is_provisional for one in decisions) else ""
    return Cell(least.answer.text(), TONES[least.action], f"{saved}{provisional}")


def _confidence(decisions: Sequence[Decision]) -> Cell:
    """Say what the answers stand on: the level of their intervals and the launches; or that some are open."""
    made = [one.launches for one in decisions if one.launches and one.action != OPEN]
    left = sum(one.action == OPEN for one in decisions)
    if not made:
        return Cell(OPEN if left else formatting.MISSING, "warn" if left else "muted")
    launches = formatting.count(max(made), "launch", "launches")
    span = launches if min(made) == max(made) else f"{min(made):,} to {launches}"
    return Cell(f"95%, {span}", "warn" if left else "", f"{left:,} of {len(decisions):,} open" if left else "")


def _gains(judgement: Judgement, places: Places) -> Sequence[Block]:
    """Return the chart of the gains, one panel for each place."""
    known = [one for one in judgement.decisions if one.saved is not None]
    if not known:
        return ()
    rows: list[dict[str, Any]] = [
        {
            **{name: getattr(one, name) for name in ("op", "use", "action", "saved")},
            "panel": " · ".join(place_of(one, places)),
            "low": math.nan if one.saved_low is None else one.saved_low,
            "high": math.nan if one.saved_high is None else one.saved_high,
        }
        for one in known
    ]
    alt = f"Share of the callback's time that each answer saves, with its 95% interval. {_surest(known)}"
    return (Chart(gain_chart(rows, judgement.minimum_effect), alt),)


def _surest(decisions: Sequence[Decision]) -> str:
    """Say which answer is certain to save most; what changes nothing, or may be slower, saves nothing for certain."""
    sure = [one for one in decisions if one.choice is not None and (one.saved_low or 0.0) > 0]
    if not sure:
        return "None is certain to save time."
    best = max(sure, key=lambda one: one.saved_low or 0.0)
    saved = formatting.saved_at_least(best.saved, best.saved_low)
    return f"The largest certain saving is {saved}: {best.op} for {best.use}, {best.answer.text()}."


def _page(judgement: Judgement, op: str, decisions: Sequence[Decision], places: Places) -> Sequence[Block]:
    cells = {use: _over_places(mine) for use in USES if (mine := [one for one in decisions if one.use == use])}
    note = " · ".join(f"{use}: {', '.join(filter(None, (cell.text, cell.note)))}" for use, cell in cells.items())
    return (
        Heading(op, of_op=True, note=note),
        _evidence(op, decisions, places),
        *_by_size(decisions, places, unit_of(judgement, op)),
        *_as_source(judgement, op),
    )


def _as_source(judgement: Judgement, op: str) -> Sequence[Block]:
    """Return how to have the answers as source, where they are ports of an own op's body."""
    return tuple(Paragraph(port.how_to_write()) for port in writable_ports(judgement) if port.op == op)


def _details(columns: tuple[str, ...], rows: Rows, caption: str, places: Places) -> Sequence[Block]:
    """Return a table of what there is to tell beyond the answer, or nothing; what is long is folded."""
    if not rows:
        return ()
    head = ("use", *places.varying)
    return (Table((*head, *columns), rows, caption, folded=len(rows) > MOST_ROWS, headings=len(head)),)


def _evidence(op: str, decisions: Sequence[Decision], places: Places) -> Table:
    rows: Rows = tuple(
        (
            decision.use,
            *place_of(decision, places),
            Cell(decision.answer.text(), TONES[decision.action]),
            formatting.saved_at_least(decision.saved, decision.saved_low),
            _one_op(decision),
            decision.why(),
        )
        for decision in decisions
    )
    columns = ("use", *places.varying, "answer", "saves (at least)", "one op", "why")
    return Table(columns, rows, f"{op}: the evidence", headings=1 + len(places.varying), says_why=True)


def _one_op(decision: Decision) -> str:
    """Return what one op costs before and after, at the smallest and at the largest size."""
    ends = decision.seconds[:1] + decision.seconds[1:][-1:]
    if decision.choice is None or not ends:
        return formatting.MISSING
    shown = (f"{change_of_cost(one)} at {formatting.size(one.size)}" for one in ends)
    return ", ".join(shown)


def change_of_cost(one: SizeSeconds) -> str:
    """Return what one op costs before and after at a size, as far as noise lets it be told."""
    noisy = {"noisy_before": one.today_too_noisy, "noisy_after": one.after_too_noisy}
    return formatting.change_or_noise(one.today, one.after, **noisy)


def _by_size(decisions: Sequence[Decision], places: Places, unit: str) -> Sequence[Block]:
    """Return the answers by size where they differ."""
    rows: Rows = tuple(
        (
            decision.use,
            *place_of(decision, places),
            formatting.sized(part.low, unit, part.high),
            part.answer.text(),
            formatting.saved_at_least(part.saved, part.saved_low),
        )
        for decision in decisions
        if len(decision.ranges) > 1
        for part in decision.ranges
    )
    return _details(
        ("sizes", "answer", "saves"), rows, f"{decisions[0].op}: where the answer depends on the size", places
    )


SECTION = Section("decisions", "What to do", 10, build, brief)

"""Answers by kind of machine, by how much machines differ, and which there were; only for a run on several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.machines import MachineAnswers, kinds_in, kinds_of, summary_text
from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Paragraph, Section, Table
from pyopbench.report.sections._places import FIELDS, Places, places_of
from pyopbench.report.sections.decisions import TONES

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


def build(judgement: Judgement) -> Sequence[Block]:
    """Return the answers of each kind of machine, by how much machines differ, and the machines."""
    if not judgement.machines:
        return ()
    return (*brief(judgement), _machines(judgement))


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return how many machines there were, the answers of each kind, and by how much machines differ."""
    if not judgement.machines:
        return ()
    places, kinds = places_of(judgement), kinds_in(judgement.run)
    differing = sum(one.differs for one in judgement.machines)
    machines = sum(len(names) for names in kinds.values())
    told = summary_text(machines, len(kinds), differing, len(judgement.machines))
    return (
        Paragraph(told, "warn" if differing else ""),
        *((_by_kind(judgement, places),) if len(kinds) > 1 else ()),
        _differences(judgement, places),
    )


def _place_of(one: MachineAnswers, places: Places) -> tuple[Cell | str, ...]:
    return (one.op, one.use, *places.of({field: getattr(one, field) for field in FIELDS}))


def _by_kind(judgement: Judgement, places: Places) -> Table:
    rows: tuple[tuple[Cell | str, ...], ...] = tuple(
        (
            *_place_of(one, places),
            kind.machine,
            f"{kind.machines:,}",
            Cell(kind.answer.text(), TONES[kind.action]),
            formatting.saved_at_least(kind.saved, kind.saved_low) if kind.choice else formatting.MISSING,
        )
        for one in judgement.machines
        for kind in one.kinds
    )
    columns = ("op", "use", *places.varying, "kind of machine", "machines", "answer", "saves (at least)")
    return Table(columns, rows, "Answers by kind of machine", headings=2 + len(places.varying))


def _differences(judgement: Judgement, places: Places) -> Table:
    rows: tuple[tuple[Cell | str, ...], ...] = tuple(
        (
            *_place_of(one, places),
            one.label or formatting.MISSING,
            f"{one.machines:,}",
            formatting.percent(one.i_squared),
            one.text(),
        )
        for one in judgement.machines
    )
    columns = ("op", "use", *places.varying, "candidate", "machines", "I²", "by how much machines differ")
    return Table(columns, rows, "How much machines differ in what is saved", headings=2 + len(places.varying))


def _machines(judgement: Judgement) -> Table:
    run = judgement.run
    launches, kinds = Counter(run.hosts.values()), kinds_of(run)
    rows = tuple(
        (
            name,
            kinds[name],
            formatting.byte_count(one.get("memory_bytes")),
            str(one.get("os") or "unknown"),
            f"{launches[name]:,}",
        )
        for name, one in sorted(run.machines.items())
    )
    return Table(("machine", "kind", "memory", "system", "launches"), rows, "The machines", folded=len(rows) > 8)


SECTION = Section("machines", "Machines", 11, build, brief)

"""What a terminal shows of a judgement: the answers as tables, notes to them, and why cases have no number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyopbench import text
from pyopbench.automatic import attempts_of
from pyopbench.holes import cases_by_reason, holes_of
from pyopbench.model import Case
from pyopbench.sections import automatic, worth
from pyopbench.sections._places import places_of
from pyopbench.sections.decisions import place_of
from pyopbench.sections.holes import MOST_BRIEF, UNSUPPORTED, measured_in
from pyopbench.wording.holes import hole_text

if TYPE_CHECKING:
    from pyopbench.answers import Decision
    from pyopbench.decide import Judgement


@dataclass(frozen=True)
class TerminalTable:
    """A table for a terminal of 80 columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def tables(judgement: Judgement) -> tuple[TerminalTable, ...]:
    """Return the answers, a row for each decision, and behind them every table that has a row; all fit 80 columns."""
    others = (_automatic_table(judgement), _worth_table(judgement), _table_without_number(judgement))
    return (_answers_table(judgement), *(table for table in others if table.rows))


def _answers_table(judgement: Judgement) -> TerminalTable:
    places = places_of(judgement)
    rows = [(made.op, made.use, *place_of(made, places), made.answer, _gain(made)) for made in judgement.decisions]
    return TerminalTable("What to do", ("op", "use", *places.varying, "answer", "gain"), tuple(rows))


def _gain(decision: Decision) -> str:
    return text.MISSING if decision.choice is None else text.gain_at_least(decision.gain, decision.gain_low)


def _automatic_table(judgement: Judgement) -> TerminalTable:
    """Return a row for each port that was tried by itself; those that fail for the same reason are in one."""
    ports: dict[tuple[str, ...], list[str]] = {}
    for attempt in attempts_of(judgement):
        op, port, *rest = map(str, automatic.row(attempt))
        ports.setdefault((op, *rest, "" if attempt.reason and not attempt.works else port), []).append(port)
    rows = tuple((op, "\n".join(names), *rest) for (op, *rest, _), names in ports.items())
    return TerminalTable("Ports that cost nothing, tried by themselves", automatic.COLUMNS, rows)


def _worth_table(judgement: Judgement) -> TerminalTable:
    found = worth.table(judgement, places_of(judgement))
    rows = tuple(tuple(str(cell) for cell in row) for row in found.rows)
    return TerminalTable("What a port is worth (lower end)", found.columns, rows)


def _table_without_number(judgement: Judgement) -> TerminalTable:
    measured = measured_in(judgement)
    cases: dict[str, set[str]] = {}
    for reason, found in cases_by_reason(judgement.run, measured).items():
        cases.setdefault(reason.status, set()).update(set(found) - measured)
    rows = tuple((status, f"{len(found):,}") for status, found in sorted(cases.items()) if found)
    return TerminalTable("Without a number", ("status", "cases"), rows)


def notes(judgement: Judgement) -> tuple[str, ...]:
    """Return what else is to be known of the answers, a sentence each with the decisions that it holds for."""
    places = places_of(judgement)
    holds_for: dict[str, list[str]] = {}
    for decision in judgement.decisions:
        by_size = ("the answer differs by size",) if len(decision.ranges) > 1 else ()
        # What would settle it is short; the reason names every candidate that is open.
        why = (decision.flips[:1] or (decision.reason,)) if decision.action == "undecided" else ()
        name = " ".join((decision.op, decision.use, *place_of(decision, places)))
        for note in (*_gaps(decision, judgement), *by_size, *why):
            holds_for.setdefault(note, []).append(name)
    return tuple(f"{note}: {', '.join(names)}" for note, names in holds_for.items())


def reasons(judgement: Judgement) -> tuple[str, ...]:
    """Return why cases were not measured at all, the reasons that most cases have; what failed is told by itself."""
    found = holes_of(cases_by_reason(judgement.run, measured_in(judgement)))
    unsupported = [hole for hole in found if hole.reason.status == UNSUPPORTED]
    return tuple(map(hole_text, unsupported[:MOST_BRIEF]))


def _gaps(decision: Decision, judgement: Judgement) -> tuple[str, ...]:
    """Say at which planned sizes there is no answer, because the callback of today has no number there."""
    setting = (decision.op, decision.mode, decision.dtype)
    cases = [Case.from_id(key) for key in judgement.run.cases]
    planned = sorted({case.size for case in cases if (case.op, case.mode, case.dtype) == setting})
    gone = [size for size in planned if not any(one.low <= size <= one.high for one in decision.ranges)]
    return (f"no number at {text.listing([text.size(size) for size in gone])}",) if gone and decision.ranges else ()

"""What a terminal shows of a judgement on one screen: the answers, and a line for each thing to know about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyopbench.judge.devices import summaries_of
from pyopbench.judge.evidence import notes_of
from pyopbench.judge.findings import TWO_SCOPES, open_text, standing_text
from pyopbench.judge.latencies import Status, cases_by_reason, rank, without_number_text
from pyopbench.judge.ports import attempts_of, writable_ports
from pyopbench.model import formatting
from pyopbench.report.sections import devices, threads
from pyopbench.report.sections._places import FIELDS, places_of
from pyopbench.report.sections.decisions import change_of_cost, place_of
from pyopbench.report.sections.holes import measured_in

if TYPE_CHECKING:
    from pyopbench.judge.body_share import BodyShare
    from pyopbench.judge.decision import Decision
    from pyopbench.judge.judge import Judgement


COLUMNS, GAP = 80, 2
"""Of a terminal, and blanks between the columns of a table in it."""
MOST_OF_NAME = 20
"""Characters of the name of an op in a table that has a line for each row."""
MOST_UNDECIDED = 5
"""Undecided answers of many whose reason is shown."""
MOST_FEW = 8
"""Decisions up to so many, those on four ops, have a row each."""
TITLE = "What to do"
TITLE_OF_MANY = "What to do, and how much of the callback's time it saves at least"
INFERENCE = "inference"
USES = (INFERENCE, "training")


@dataclass(frozen=True)
class TerminalTable:
    """A table for a terminal of 80 columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]


def tables(judgement: Judgement) -> tuple[TerminalTable, ...]:
    """Return the answers, and behind them every table that has a row; all fit 80 columns.

    Few decisions have a row each. Many, which would not fit a screen, have one for each op, with the least saving.
    """
    others = (
        _devices_table(judgement),
        _automatic_table(judgement),
        _threads_table(judgement),
    )
    answers = _table_of_many(judgement) if are_many(judgement) else _table_of_few(judgement)
    return (answers, *(table for table in others if table.rows))


def are_many(judgement: Judgement) -> bool:
    """Are there so many decisions that a screen has room for one row for each op?"""
    return len(judgement.decisions) > MOST_FEW


def _table_of_few(judgement: Judgement) -> TerminalTable:
    places = places_of(judgement)
    rows = [
        (made.op, made.use, *place_of(made, places), made.answer.text(), _saved(made), _seconds(made))
        for made in judgement.decisions
    ]
    return TerminalTable(TITLE, ("op", "use", *places.varying, "answer", "saves", "one op"), tuple(rows))


def _table_of_many(judgement: Judgement) -> TerminalTable:
    places = places_of(judgement)
    uses = [use for use in USES if any(one.use == use for one in judgement.decisions)]
    found: dict[tuple[str, ...], dict[str, Decision]] = {}
    for made in judgement.decisions:
        found.setdefault((made.op, *place_of(made, places)), {})[made.use] = made
    rows = tuple((*where, *(cell for use in uses for cell in _cells(mine.get(use)))) for where, mine in found.items())
    columns = ("op", *places.varying, *(name for use in uses for name in (use, "saves")))
    return TerminalTable(TITLE_OF_MANY, columns, rows)


def _cells(decision: Decision | None) -> tuple[str, str]:
    if decision is None:
        return formatting.MISSING, formatting.MISSING
    saved = formatting.MISSING if decision.choice is None else formatting.at_least(decision.saved_low)
    return decision.answer.text(), saved


def _saved(decision: Decision) -> str:
    if decision.choice is None:
        return formatting.MISSING
    return formatting.saved_at_least(decision.saved, decision.saved_low)


def _seconds(decision: Decision) -> str:
    """Return what one op costs before and after at the smallest size, where the callback itself weighs most."""
    first = decision.seconds[:1]
    if decision.choice is None or not first:
        return formatting.MISSING
    return change_of_cost(first[0])


def _automatic_table(judgement: Judgement) -> TerminalTable:
    """Return a line for each port that was tried automatically; the report has the whole reasons."""
    attempts = attempts_of(judgement)
    heads = [(formatting.shorten(one.op, MOST_OF_NAME), one.variant) for one in attempts]
    columns = ("op", "port", "saves (at least), or why not")
    taken = sum(max(map(len, column)) + GAP for column in zip(columns[:2], *heads, strict=True))
    outcomes = [one.text(COLUMNS - taken) for one in attempts]
    rows = tuple((*head, outcome) for head, outcome in zip(heads, outcomes, strict=True))
    return TerminalTable("Automatic ports", columns, rows)


def _devices_table(judgement: Judgement) -> TerminalTable:
    """Return a row for each op and direction that was measured on the CPU and on a GPU."""
    fields = devices.varying(judgement)
    rows = tuple(
        (
            formatting.shorten(one.op, MOST_OF_NAME),
            formatting.direction(one.direction),
            *(getattr(one, name) for name in fields),
            one.devices_text(),
            one.ratios_text(),
        )
        for one in summaries_of(judgement.devices)
    )
    columns = ("op", "direction", *fields, "run it on", "GPU / CPU")
    return TerminalTable("Where each op should run", columns, rows)


def _threads_table(judgement: Judgement) -> TerminalTable:
    found = threads.summary(judgement)
    rows = tuple(tuple(str(cell) for cell in row) for row in found.rows)
    return TerminalTable("Calls a second from several threads", found.columns, rows)


def notes(judgement: Judgement) -> tuple[str, ...]:
    """Return what else you should know about the answers: which ones of few, how many of many."""
    told = _notes_of_many(judgement) if are_many(judgement) else _notes_of_few(judgement)
    twins = judgement.twins.text() if judgement.twins.told_apart else ""
    return (*told, *((twins,) if twins else ()), *_noise(judgement), *_without_number(judgement))


def _notes_of_many(judgement: Judgement) -> tuple[str, ...]:
    said = standing_text(
        len(judgement.decisions),
        undecided=sum(one.action == "undecided" for one in judgement.decisions),
        by_size=sum(len(one.ranges) > 1 for one in judgement.decisions),
        provisional=sum(one.is_provisional for one in judgement.decisions),
    )
    return (said,) if said else ()


def _notes_of_few(judgement: Judgement) -> tuple[str, ...]:
    places = places_of(judgement)
    holds_for: dict[str, list[str]] = {}
    for decision in judgement.decisions:
        name = " ".join((decision.op, decision.use, *place_of(decision, places)))
        for note in (*(note.text() for note in notes_of(decision, judgement.run)), *_bound(decision)):
            holds_for.setdefault(note, []).append(name)
    for share in _bounds_beside(judgement):
        name = " ".join((share.op, *places.of({field: getattr(share, field) for field in FIELDS})))
        holds_for.setdefault(share.text(), []).append(name)
    scopes = any(decision.choice is not None and len(decision.seconds) > 1 for decision in judgement.decisions)
    told = (f"{note}: {', '.join(names)}" for note, names in holds_for.items())
    return (*((TWO_SCOPES,) if scopes else ()), *told)


def _bounds_beside(judgement: Judgement) -> list[BodyShare]:
    """Return what bodies bound, where the answer is not to go to another body, which that bound says nothing of."""
    elsewhere = {
        (made.op, made.use, *(getattr(made, field) for field in FIELDS)): made.choice for made in judgement.decisions
    }
    found = []
    for share in judgement.body_shares:
        choice = elsewhere.get((share.op, INFERENCE, *(getattr(share, field) for field in FIELDS)))
        if share.is_bound and (choice is None or choice in share.around):
            found.append(share)
    return found


def _noise(judgement: Judgement) -> tuple[str, ...]:
    said = judgement.machine.warning_text() if judgement.machine else ""
    return (said,) if said else ()


def _without_number(judgement: Judgement) -> tuple[str, ...]:
    measured = measured_in(judgement)
    cases: dict[Status, set[str]] = {}
    for reason, found in cases_by_reason(judgement.run, measured).items():
        cases.setdefault(reason.status, set()).update(set(found) - measured)
    counts = {status: len(cases[status]) for status in sorted(cases, key=rank) if cases[status]}
    return (without_number_text(counts),) if counts else ()


def _bound(decision: Decision) -> tuple[str, ...]:
    """Return what else saves as much, and that an answer may cost more than it should against the best."""
    provisional = (decision.loss_text(),) if decision.is_provisional else ()
    return provisional or tuple(filter(None, (decision.as_good_text(),)))


def commands(judgement: Judgement) -> tuple[str, ...]:
    """Return how to have each answer that is a port of an own op's body as source."""
    return tuple(port.how_to_write() for port in writable_ports(judgement))


def undecided(judgement: Judgement) -> tuple[tuple[str, Decision], ...]:
    """Return why an answer is undecided, and which it is; of many the first few, which fill no screen."""
    places = places_of(judgement)
    found = [one for one in judgement.decisions if one.action == "undecided"]
    most = MOST_UNDECIDED if are_many(judgement) else len(found)
    return tuple(
        (f"{' '.join((one.op, one.use, *place_of(one, places)))} is undecided: {open_text(one.reason)}", one)
        for one in found[:most]
    )

"""What each variant can do on this TensorFlow, by live probes; only where what they found was kept in the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.requirements import CUBE
from pyopbench.model import formatting
from pyopbench.model.label import Label
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table, Tone
from pyopbench.report.sections._required import barred
from pyopbench.store import probes
from pyopbench.store.probes import ProbeRow

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

MARKS: dict[str, str] = {"works": "works", "fails": "fails", "silently wrong": "wrong", "does not apply": "–"}
TONES: dict[str, Tone] = {"works": "good", "fails": "bad", "silently wrong": "bad", "does not apply": "muted"}


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what was required and removed, the matrix, and the words of each failure."""
    document = judgement.run.probes
    required = _required(judgement)
    if document is None:
        return required
    decided = {decision.op for decision in judgement.decisions}
    rows = [row for row in probes.rows_of(document) if row.op is None or row.op in decided]
    intro = (
        f"Tried on TensorFlow {document['tensorflow']}, with values and gradients compared with NumPy. Wrong: a wrong "
        "number without an error. –: does not apply. Empty: not tried."
    )
    return (
        *required,
        Paragraph(intro),
        *_other_version(judgement),
        *_matrices(judgement, rows),
        *_failures(judgement, rows),
    )


def _matrices(judgement: Judgement, rows: Sequence[ProbeRow]) -> tuple[Table, ...]:
    """Return what works with each op that something was tried with, and what works with the cube."""
    cube, ops = probes.of_op(rows, None), probes.ops_of(rows)
    labels = _in_order(probes.labels_of([row for row in rows if row.op is not None]), judgement.baseline)
    with_ops = tuple((op, *line) for op in ops for line in _lines(judgement, probes.of_op(rows, op), labels))
    tables = [Table(("op", "tried", *labels), with_ops, "What works with each op")] if ops else []
    if cube:
        labels = _in_order(probes.labels_of(cube), judgement.baseline)
        tables.append(Table(("tried", *labels), _lines(judgement, cube, labels), f"What works with {CUBE}"))
    return tuple(tables)


def _lines(judgement: Judgement, rows: Sequence[ProbeRow], labels: Sequence[str]) -> tuple[tuple[Cell | str, ...], ...]:
    """Return a line for each probe that was tried with one op or the cube."""
    tried = {row.probe for row in rows}
    found = {(row.probe, row.label): row for row in rows}
    return tuple(
        (told, *(_cell(found.get((name, label))) for label in labels))
        for name, told in _names(judgement).items()
        if name in tried
    )


def _failures(judgement: Judgement, rows: Sequence[ProbeRow]) -> tuple[Table, ...]:
    bad = [row for row in rows if row.is_bad]
    names = _names(judgement)
    words = tuple(
        (one.op or CUBE, names.get(one.probe, one.probe), one.status, formatting.listing(one.labels), one.told)
        for one in probes.told_once(bad)
    )
    columns = ("op", "tried", "result", "with", "message")
    return (Table(columns, words, "Each failure", folded=True),) if bad else ()


def _names(judgement: Judgement) -> dict[str, str]:
    assert judgement.run.probes is not None
    return dict(judgement.run.probes["probes"])


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return what is required and what was removed for it."""
    return _required(judgement)


def _required(judgement: Judgement) -> tuple[Block, ...]:
    if not judgement.requires:
        return ()
    names = formatting.listing(list(judgement.requires))
    told = barred(judgement)
    if not told:
        return (Paragraph(f"Required: {names}. Every variant supports it."),)
    return (
        Paragraph(f"Required: {names}. Only variants that were seen to support it are candidates:", "warn"),
        Bullets(told),
    )


def _in_order(labels: Sequence[str], baseline: str) -> list[str]:
    return sorted(labels, key=lambda label: Label.parse(label).variant != baseline)


def _cell(row: ProbeRow | None) -> Cell:
    return Cell("") if row is None else Cell(MARKS[row.status], TONES[row.status])


def _other_version(judgement: Judgement) -> Sequence[Block]:
    assert judgement.run.probes is not None
    then, now = judgement.run.probes["tensorflow"], judgement.run.environment.get("tensorflow")
    if then == now:
        return ()
    return (Paragraph(f"They were tried on TensorFlow {then}, but this run used {now}: probe again.", "warn"),)


SECTION = Section("probes", "What each variant supports", 16, build, brief)

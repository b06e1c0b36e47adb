"""What each variant can do on this TensorFlow, by live probes; only where what they found was kept in the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.core import formatting
from pyopbench.core.label import Label
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table, Tone
from pyopbench.report.sections._required import barred
from pyopbench.results import probes
from pyopbench.results.probes import Row

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement

MARKS: dict[str, str] = {"works": "works", "fails": "fails", "silently wrong": "wrong", "does not apply": "–"}
TONES: dict[str, Tone] = {"works": "good", "fails": "bad", "silently wrong": "bad", "does not apply": "muted"}


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what was required and removed, the matrix, and the words of each failure."""
    document = judgement.run.probes
    required = _required(judgement)
    if document is None:
        return required
    rows = probes.rows_of(document)
    labels = _in_order(probes.labels_of(rows), judgement.baseline)
    intro = (
        f"Each was tried on TensorFlow {document['tensorflow']} with x³ of four numbers, its values and gradients "
        'compared with NumPy\'s: "wrong" is another number without an error. Empty was not tried.'
    )
    lines = tuple((told, *(_cell(rows, name, label) for label in labels)) for name, told in document["probes"].items())
    bad = [row for row in rows if row.is_bad]
    words = tuple(
        (document["probes"].get(probe, probe), status, formatting.listing(who), told)
        for probe, status, who, told in probes.told_once(bad)
    )
    return (
        *required,
        Paragraph(intro),
        *_other_version(judgement),
        Table(("tried", *labels), lines, "What works on this TensorFlow"),
        *((Table(("tried", "result", "with", "in its own words"), words, "Each failure", folded=True),) if bad else ()),
    )


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return what is required and what was removed for it."""
    return _required(judgement)


def _required(judgement: Judgement) -> tuple[Block, ...]:
    if not judgement.requires:
        return ()
    names = formatting.listing(list(judgement.requires))
    told = barred(judgement)
    if not told:
        return (Paragraph(f"Required: {names}. No variant was removed for it."),)
    return (Paragraph(f"Required: {names}. Only what was seen to do it is a candidate:", "warn"), Bullets(told))


def _in_order(labels: Sequence[str], baseline: str) -> list[str]:
    return sorted(labels, key=lambda label: Label.parse(label).variant != baseline)


def _cell(rows: Sequence[Row], probe: str, label: str) -> Cell:
    row = probes.find(rows, probe, label)
    return Cell("") if row is None else Cell(MARKS[row.status], TONES[row.status])


def _other_version(judgement: Judgement) -> Sequence[Block]:
    assert judgement.run.probes is not None
    then, now = judgement.run.probes["tensorflow"], judgement.run.environment.get("tensorflow")
    if then == now:
        return ()
    return (Paragraph(f"They were tried on TensorFlow {then}, and this run is of {now}: make them again.", "warn"),)


SECTION = Section("probes", "What works, and what each variant blocks", 16, build, brief)

"""Ports that pyopbench wrote from the body, and which requirements each variant supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.ports import attempts_of, port_path, working_ports
from pyopbench.judge.requirements import remarks
from pyopbench.model import formatting
from pyopbench.model.errors import LONGEST_REASON
from pyopbench.report.sections import Block, Bullets, Cell, Code, Paragraph, Table, Tone

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

INTRO = (
    "pyopbench wrote these ports from your unchanged function. The file that was measured is the one that pyopbench "
    "port writes. Before it was timed, each had to give the same values, and a gradient that finite differences "
    "confirm."
)
TONES: dict[str, Tone] = {"works": "good", "fails": "bad", "silently wrong": "bad", "does not apply": "muted"}
COLUMNS = ("op", "port", "saves (at least), or why not")
MOST_CHARACTERS = 48
"""Of an outcome in a terminal of 80 columns, behind the names of an op and a port."""
MOST_OF_NAME = 20


def build(judgement: Judgement) -> Sequence[Block]:
    """Return a row for each port that was tried, its source, and the requirements that were tried."""
    attempts = attempts_of(judgement)
    blocks: list[Block] = []
    if attempts:
        tones: dict[bool, Tone] = {True: "good", False: "warn"}
        rows = tuple(
            (one.op, one.variant, Cell(one.text(LONGEST_REASON), tones[one.works and not one.reason]))
            for one in attempts
        )
        blocks += [Paragraph(INTRO), Table(COLUMNS, rows, "Ports that were tried", headings=2)]
        tried = {(one.op, one.variant) for one in attempts}
        blocks += [
            Code(one.text, f"{port_path(one)}, as it was measured")
            for one in working_ports(judgement)
            if (one.op, one.variant) in tried
        ]
    blocks += _required(judgement)
    requirements = tuple(
        (one.op, one.label, one.requirement, Cell(one.status, TONES[one.status]), one.reason)
        for one in sorted(judgement.run.requirements, key=lambda one: (one.op, one.label, one.requirement))
    )
    if requirements:
        columns = ("op", "variant", "requirement", "result", "reason")
        blocks.append(Table(columns, requirements, "What was tried with the ops' own inputs", folded=True))
    return blocks


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return a line for each port that was tried, and the variants removed by requirements."""
    rows = tuple(
        (formatting.shorten(one.op, MOST_OF_NAME), one.variant, one.text(MOST_CHARACTERS))
        for one in attempts_of(judgement)
    )
    return (*((Table(COLUMNS, rows, "Ports that were tried", headings=2),) if rows else ()), *_required(judgement))


def _required(judgement: Judgement) -> list[Block]:
    if not judgement.requires:
        return []
    names, removed = formatting.listing(list(judgement.requires)), remarks(judgement)
    if not removed:
        return [Paragraph(f"Required: {names}. Every variant supports it.")]
    text = f"Required: {names}. Only variants that were seen to support it are candidates:"
    return [Paragraph(text, "warn"), Bullets(tuple(removed))]

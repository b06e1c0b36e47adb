"""What was required (`--require`), what was removed for it, and what came of each attempt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.requirements import remarks
from pyopbench.model import formatting
from pyopbench.report.sections import Block, Bullets, Cell, Paragraph, Section, Table, Tone

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

TONES: dict[str, Tone] = {"works": "good", "fails": "bad", "silently wrong": "bad", "does not apply": "muted"}


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what was required and removed, and what was tried in the run."""
    rows = tuple(
        (one.op, one.label, one.requirement, Cell(one.status, TONES[one.status]), one.reason)
        for one in sorted(judgement.run.requirements, key=lambda one: (one.op, one.label, one.requirement))
    )
    columns = ("op", "variant", "requirement", "result", "reason")
    tried = (Table(columns, rows, "What was tried with the ops' own inputs", folded=True),) if rows else ()
    return (*brief(judgement), *tried)


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return what is required and what was removed for it."""
    if not judgement.requires:
        return ()
    names = formatting.listing(list(judgement.requires))
    removed = remarks(judgement)
    if not removed:
        return (Paragraph(f"Required: {names}. Every variant supports it."),)
    return (
        Paragraph(f"Required: {names}. Only variants that were seen to support it are candidates:", "warn"),
        Bullets(removed),
    )


SECTION = Section("requirements", "What each variant supports", 16, build, brief)

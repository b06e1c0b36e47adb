"""Ports that cost nothing: what was tried from the body that is there, what came of it, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.judge.ports import Attempt, attempts_of, port_path
from pyopbench.model import formatting
from pyopbench.report.sections import Block, Cell, Code, Paragraph, Section, Table

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement

COLUMNS = ("op", "port", "works", "saves (at least)", "why not")


def build(judgement: Judgement) -> Sequence[Block]:
    """Return a row for each attempt; nothing where no op was the user's own."""
    attempts = attempts_of(judgement)
    if not attempts:
        return ()
    intro = (
        "pyopbench wrote these from your function as it is, in TensorFlow ops, for AutoGraph, XLA and Numba. What "
        "was measured is the file that pyopbench port writes. Each had to give the same values, and a gradient that "
        "finite differences confirm, before it was timed."
    )
    table = Table(COLUMNS, tuple(map(row, attempts)), "Ports that were tried", headings=2)
    return (Paragraph(intro), table, *sources(judgement, attempts))


def sources(judgement: Judgement, attempts: Sequence[Attempt]) -> list[Code]:
    """Return the files of the ports that work, as they were measured."""
    working = {(one.op, one.variant) for one in attempts if one.works}
    return [
        Code(one.text, f"{port_path(one)}, as it was measured")
        for one in judgement.run.ports
        if (one.op, one.variant) in working
    ]


def brief(judgement: Judgement) -> Sequence[Block]:
    """Return what a ticket has: no source."""
    return [one for one in build(judgement) if not isinstance(one, Code)]


def row(attempt: Attempt) -> tuple[Cell | str, ...]:
    """Return the cells of one attempt."""
    works = Cell("yes", "good") if attempt.works else Cell("no", "warn")
    saved = formatting.saved_at_least(attempt.saved, attempt.saved_low)
    return (attempt.op, attempt.variant, works, saved, attempt.reason or formatting.MISSING)


SECTION = Section("automatic", "Automatic ports", 12, build, brief)

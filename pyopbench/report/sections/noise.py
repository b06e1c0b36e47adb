"""How quiet the machine was, and what became of A/A controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.report.sections import Block, Paragraph, Section

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


def build(judgement: Judgement) -> Sequence[Block]:
    """Return load and stolen time, a warning where they were too large, and what became of A/A controls."""
    machine, controls = judgement.machine, judgement.twins
    told = [] if machine is None else [(machine.text(), ""), (machine.warning_text(), "warn")]
    said = [*told, (controls.text(), "warn" if controls.told_apart else "")]
    return tuple(Paragraph(text, "warn" if tone else "") for text, tone in said if text)


SECTION = Section("noise", "How quiet the machine was", 45, build)

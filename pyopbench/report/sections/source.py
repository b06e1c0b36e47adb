"""What results of another tool cannot support, said first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyopbench.report.sections import Block, Bullets, Paragraph, Section

if TYPE_CHECKING:
    from pyopbench.judge.judge import Judgement


def build(judgement: Judgement) -> Sequence[Block]:
    """Return what the source cannot tell; nothing for a run of pyopbench."""
    run = judgement.run
    if not run.cannot:
        return ()
    sentences = tuple(limitation.text() for limitation in run.cannot)
    return (Paragraph(f"These are results of {run.tool}. Their limitations:", "warn"), Bullets(sentences))


SECTION = Section("source", "Limitations of these results", 5, build, build)

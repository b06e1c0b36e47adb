"""What the callback of today blocks and what was removed as required, in sentences that several outputs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyopbench import requirements, text

if TYPE_CHECKING:
    from pyopbench.decide import Judgement


def blocked(judgement: Judgement) -> str:
    """Return what the callback of today was seen not to do, in a sentence; empty where nothing is known of it."""
    found = {name for decision in judgement.decisions for name in decision.blocks}
    if not found:
        return ""
    names = text.listing([name for name in requirements.NAMES if name in found])
    return f"As long as {judgement.baseline} stays, it blocks {names}, however fast it is."


def barred(judgement: Judgement) -> tuple[str, ...]:
    """Return which variants were removed by which probe, and what is not known of them, each once."""
    return tuple(dict.fromkeys(sentence for decision in judgement.decisions for sentence in decision.barred))


def remarks(judgement: Judgement) -> tuple[str, ...]:
    """Return what goes with the decisions: what the callback of today blocks, and what was removed."""
    return (*filter(None, [blocked(judgement)]), *(f"required: {sentence}" for sentence in barred(judgement)))

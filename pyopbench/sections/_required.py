"""What the callback of today blocks and what was removed as required, in sentences that several outputs share."""

from __future__ import annotations

from collections.abc import Iterable
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


def blocked_by(judgement: Judgement, labels: Iterable[str]) -> str:
    """Return in words what at least one of some variants was seen not to do, of all that can be required."""
    found = [requirements.standing(judgement.run, label, requirements.NAMES) for label in dict.fromkeys(labels)]
    if any(len(one.unknown) == len(requirements.NAMES) for one in found):
        return "not probed"
    bars = {bar.requirement for one in found for bar in one.bars}
    return ", ".join(name for name in requirements.NAMES if name in bars) or "nothing seen"


def barred(judgement: Judgement) -> tuple[str, ...]:
    """Return which variants were removed by which probe, those alike in one sentence, and what is not known of them."""
    removed: dict[str, list[str]] = {}
    unknown = []
    for sentence in dict.fromkeys(sentence for decision in judgement.decisions for sentence in decision.barred):
        who, cannot, what = sentence.partition(f" {requirements.CANNOT}")
        if cannot:
            removed.setdefault(cannot + what, []).append(who)
        else:
            unknown.append(sentence)
    return (*(text.listing(who) + what for what, who in removed.items()), *unknown)


def remarks(judgement: Judgement) -> tuple[str, ...]:
    """Return what goes with the decisions: what the callback of today blocks, and what was removed."""
    return (*filter(None, [blocked(judgement)]), *(f"required: {sentence}" for sentence in barred(judgement)))

"""What the callback of today blocks and what was removed as required, in sentences that several outputs share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from pyopbench.judge import requirements
from pyopbench.judge.bars import Bar
from pyopbench.report.wording.requirements import TRIED_WITH, bar_text, blocks_text, required_text, unknown_text

if TYPE_CHECKING:
    from pyopbench.judge.decide import Judgement


def blocked(judgement: Judgement) -> str:
    """Return what the callback of today was seen not to do, in a sentence; empty where nothing is known of it."""
    found = {name for decision in judgement.decisions for name in decision.blocks}
    if not found:
        return ""
    return blocks_text(judgement.baseline, [name for name in requirements.NAMES if name in found])


def blocked_by(judgement: Judgement, labels: Iterable[str]) -> str:
    """Return in words what at least one of some variants was seen not to do, of all that can be required."""
    found = [requirements.standing(judgement.run, label, requirements.NAMES) for label in dict.fromkeys(labels)]
    if any(len(one.unknown) == len(requirements.NAMES) for one in found):
        return "not probed"
    bars = {bar.requirement for one in found for bar in one.bars if bar.was_seen}
    return ", ".join(name for name in requirements.NAMES if name in bars) or "nothing seen"


def barred(judgement: Judgement) -> tuple[str, ...]:
    """Return which variants were removed by which probe, those alike in one sentence, and what is not known of them.

    Where a probe settled what is required, what it was tried with follows.
    """
    bars = dict.fromkeys(bar for decision in judgement.decisions for bar in decision.barred)
    alike: dict[Bar, list[str]] = {}
    for bar in bars:
        alike.setdefault(replace(bar, label=""), []).append(bar.label)
    unknown = dict.fromkeys(one for decision in judgement.decisions for one in decision.unknown)
    tried = (TRIED_WITH,) if judgement.run.probes and requirements.probes_for(judgement.requires) else ()
    return (*(bar_text(labels, bar) for bar, labels in alike.items()), *map(unknown_text, unknown), *tried)


def remarks(judgement: Judgement) -> tuple[str, ...]:
    """Return what goes with the decisions: what the callback of today blocks, and what was removed."""
    return (*filter(None, [blocked(judgement)]), *map(required_text, barred(judgement)))

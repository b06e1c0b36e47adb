"""How far a run has come, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyopbench.model import formatting
from pyopbench.model.case import UNLIMITED

if TYPE_CHECKING:
    from pyopbench.judge.stopping import Look


def progress_text(look: Look) -> str:
    """Return how many verdicts are resolved after so many launches, and what becomes of the others."""
    made = f"after {formatting.count(look.launches, 'launch', 'launches')}"
    if not look.verdicts:
        return f"{made}: no verdict, because only the baseline was measured"
    if look.resolved == look.verdicts:
        return f"{made}: all {formatting.count(look.verdicts, 'verdict')} resolved"
    away = look.verdicts - look.resolved - look.reachable - look.unneeded
    parts = [f"{made}: {look.resolved:,} of {formatting.count(look.verdicts, 'verdict')} resolved"]
    parts += [f"{look.reachable:,} open"] if look.reachable else []
    parts += [f"{look.unneeded:,} not needed for an answer"] if look.unneeded else []
    parts += [f"{away:,} would need {_more_than(look.most)}"] if away else []
    return ", ".join(parts)


def _more_than(most: int) -> str:
    made = formatting.count(most, "launch", "launches")
    return "too many launches" if most >= UNLIMITED else f"more than {made}"

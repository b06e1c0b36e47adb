"""How far a run has come, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyopbench.core import formatting

if TYPE_CHECKING:
    from pyopbench.judge.stopping import Look


def progress_text(look: Look) -> str:
    """Return how many verdicts are resolved after so many launches, and what becomes of the others."""
    made = f"after {formatting.count(look.launches, 'launch', 'launches')}"
    if not look.verdicts:
        return f"{made} there is no verdict: nothing was measured beside the baseline"
    if look.resolved == look.verdicts:
        return f"{made} every verdict is resolved ({look.verdicts:,})"
    away = look.verdicts - look.resolved - look.reachable - look.unneeded
    are = "is" if look.verdicts == 1 else "are"
    parts = [f"{made} {look.resolved:,} of {formatting.count(look.verdicts, 'verdict')} {are} resolved"]
    parts += [f"{look.reachable:,} still open"] if look.reachable else []
    parts += [f"{look.unneeded:,} that no answer hangs on"] if look.unneeded else []
    parts += [f"{away:,} out of reach of {formatting.count(look.most, 'launch', 'launches')}"] if away else []
    return ", ".join(parts)

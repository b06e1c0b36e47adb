"""Ports that were tried automatically, in words: whether they work, and what would make one work."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.judge.tried_ports import Attempt
from pyopbench.model import formatting
from pyopbench.model.case import Change

BECAUSE = {
    "method": "tensors do not have this method",
    "length": "the length of a tensor is in its shape",
    "rows": "a tensor is indexed, not iterated over",
    "masked": "tensors cannot be written to",
    "context": "Numba gives no such warnings",
    "reversed": "Numba counts down with a range",
    "list_index": "Numba indexes with arrays",
    "type": "Numba treats Python types as functions",
}
"""Why, by the kind of change."""


def outcome_text(attempt: Attempt, characters: int) -> str:
    """Return in a line what a port saves or why there is none; the change that is known to help is the shortest.

    Args:
        attempt: at the port.
        characters: that there is room for.
    """
    if attempt.works and not attempt.reason:
        return "works" if attempt.saved is None else formatting.saved_at_least(attempt.saved, attempt.saved_low)
    change = attempt.change
    why = attempt.reason if change is None else f"line {change.line}: write `{change.then}` for `{change.now}`"
    return formatting.shorten(f"works, but not everywhere: {why}" if attempt.works else why, characters, in_words=True)


def change_text(change: Change) -> str:
    """Return what to write in place of what, and why."""
    return f"Line {change.line}: replace `{change.now}` with `{change.then}`, because {BECAUSE[change.kind]}."


def works_text(also_on: Sequence[str]) -> str:
    """Return that a port works, and the frameworks that have all of its functions beside TensorFlow; it ran on none."""
    return f"yes; its functions exist for {formatting.listing(also_on)} too" if also_on else "yes"

"""Ports that were tried by themselves, in words: whether they work, and what gets one past its obstacle."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.core import formatting
from pyopbench.core.model import Change

BECAUSE = {
    "method": "tensors have functions and no such methods",
    "length": "a tensor tells its length by its shape",
    "rows": "a tensor is indexed and not iterated over",
    "masked": "a tensor is never written to",
    "context": "Numba warns of nothing that there would be to silence",
    "reversed": "Numba counts down by a range",
    "list_index": "Numba indexes by arrays",
    "type": "Numba takes Python's types for functions",
}
"""Why, by the kind of change."""


def change_text(change: Change) -> str:
    """Return what to write in place of what, and why."""
    return f"Line {change.line}: replace `{change.now}` by `{change.then}`, because {BECAUSE[change.kind]}."


def works_text(also_on: Sequence[str]) -> str:
    """Return that a port works, and the frameworks that have all of its functions beside TensorFlow; it ran on none."""
    return f"yes; its functions exist for {formatting.listing(also_on)} too" if also_on else "yes"

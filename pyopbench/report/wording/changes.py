"""The shortest change with which a port that failed gets past its obstacle, in words."""

from __future__ import annotations

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

"""Why cases have no number, in words."""

from __future__ import annotations

from collections.abc import Mapping

from pyopbench.judge.holes import Hole, Reason, Status
from pyopbench.model import formatting

NOT_REACHED = "the run ended before it was measured"
SHORT_REASON = 200


def reason_text(reason: Reason) -> str:
    """Return why cases have no number."""
    match reason.status:
        case "not measured":
            return NOT_REACHED
        case _:
            return reason.said


def without_number_text(counts: Mapping[Status, int]) -> str:
    """Return how many cases have no number, by status, in a line for a terminal."""
    if len(counts) == 1:
        ((status, n),) = counts.items()
        return f"No number: {formatting.count(n, f'{status} case')}; the report says why"
    told = ", ".join(f"{n:,} {status}" for status, n in counts.items())
    return f"No number: {formatting.count(sum(counts.values()), 'case')} ({told}); the report says why"


def hole_text(hole: Hole) -> str:
    """Return how many cases have no number, of which ops, and why, in a line."""
    why = formatting.shorten(reason_text(hole.reason), SHORT_REASON, in_words=True)
    return f"{formatting.count(hole.cases, 'case')} {hole.reason.status}, of {formatting.listing(hole.ops)}: {why}"

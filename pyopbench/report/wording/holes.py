"""Why cases have no number, in words."""

from __future__ import annotations

from pyopbench.core import formatting
from pyopbench.judge.holes import Hole, Reason

NOT_REACHED = "planned, and no launch got to it: the run ended first"
SHORT_REASON = 200


def reason_text(reason: Reason) -> str:
    """Return why cases have no number."""
    match reason.status:
        case "not measured":
            return NOT_REACHED
        case _:
            return reason.said


def hole_text(hole: Hole) -> str:
    """Return how many cases have no number, of which ops, and why, in a line."""
    why = formatting.shorten(reason_text(hole.reason), SHORT_REASON)
    return f"{formatting.count(hole.cases, 'case')} {hole.reason.status}, of {formatting.listing(hole.ops)}: {why}"

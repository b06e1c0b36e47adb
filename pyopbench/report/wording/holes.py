"""Why cases have no number, in words."""

from __future__ import annotations

from pyopbench.core import formatting
from pyopbench.judge.holes import Hole, Reason

NOT_REACHED = "planned, and no launch got to it: the run ended first"
ANY_OP = "…"
"""Stands for the name of the op where a reason holds for several."""
SHORT_REASON = 200


def reason_text(reason: Reason, op: str = ANY_OP) -> str:
    """Return why cases have no number.

    Args:
        reason: of cases of one op, or of several.
        op: what stands for the name of the op, where ops are taken together.
    """
    match reason.status:
        case "not measured":
            return NOT_REACHED
        case _:
            return op.join(reason.said)


def hole_text(hole: Hole) -> str:
    """Return how many cases have no number, of which ops, and why, in a line."""
    why = reason_text(hole.reason, hole.ops[0] if len(hole.ops) == 1 else ANY_OP)
    count = formatting.count(hole.cases, "case")
    return f"{count} {hole.reason.status}, of {formatting.listing(hole.ops)}: {formatting.shorten(why, SHORT_REASON)}"

"""What a share of the bound above 100% means, in words."""

from __future__ import annotations

from pyopbench.judge.roofline import Beyond

BRIEF: dict[Beyond, str] = {
    "handed_on": "passed on, not copied",
    "fewer_bytes": "fewer bytes",
    "fewer_operations": "fewer operations",
}
"""For a cell, behind the share."""


def beyond_text(beyond: Beyond) -> str:
    """Return why a call is faster than its bound; a clause, without a full stop."""
    match beyond:
        case "handed_on":
            return (
                "above 100%: TensorFlow passes the buffer on instead of copying it, or the copy stays in a nearer cache"
            )
        case "fewer_bytes":
            return "above 100%: it moves fewer bytes than the op counts, or they are in a nearer cache"
        case "fewer_operations":
            return "above 100%: it needs fewer operations than the op counts, or faster ones than those of the peak"

"""Why the parts of a callback do not predict its time, in words."""

from __future__ import annotations

from pyopbench.judge.cost_split import BodyNotAlone, PartMissing


def unpredicted_text(reason: BodyNotAlone | PartMissing) -> str:
    """Return why there is no prediction."""
    match reason:
        case BodyNotAlone(body):
            return f"the {body} body was not measured separately"
        case PartMissing(part, variant, told):
            named = f"{part} of {variant}" if variant else part
            return f"{named} has no number: {told}" if told else f"{named} has no number"

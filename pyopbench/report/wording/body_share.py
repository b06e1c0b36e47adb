"""How much of a callback's cost its body is, in words."""

from __future__ import annotations

from pyopbench.judge.body_share import BodyShare
from pyopbench.model import formatting


def body_share_text(share: BodyShare) -> str:
    """Return what a body takes of the cost of the callback around it, and so what no other bridge can gain."""
    taken = formatting.points(share.share)
    said = f"the {share.body} body takes {taken} of the time of {share.baseline}"
    if not share.is_bound:
        return f"{said}; the rest is overhead of the callback"
    most = formatting.ratio(share.most_gain)
    return f"{said}, so a callback around the same {share.body} body gains at most {most}; another body may gain more"

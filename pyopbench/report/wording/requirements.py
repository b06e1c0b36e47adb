"""Requirements in words: what the current callback blocks, what was removed by which probe, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.core import formatting
from pyopbench.judge.bars import Bar, Unknown
from pyopbench.judge.requirements import GPU


def blocks_text(baseline: str, requirements: Sequence[str]) -> str:
    """Return what the current callback was seen not to do.

    Args:
        baseline: the current callback.
        requirements: what it does not meet, at least one.
    """
    return f"As long as {baseline} stays, it blocks {formatting.listing(requirements)}, however fast it is."


def bar_text(labels: Sequence[str], bar: Bar) -> str:
    """Return what some variants cannot do, each in the way of `bar`, and by which probe."""
    return f"{formatting.listing(labels)} cannot do {bar.requirement} (probe {bar.probe}: {_seen(bar)})"


def unknown_text(unknown: Unknown) -> str:
    """Return what is not known of some variants, and for a GPU how to find out."""
    where = " (pyopbench placement --out RUN/placement.json counts it)" if unknown.requirement == GPU else ""
    return f"whether they can do {unknown.requirement}{where} is not known of {', '.join(unknown.labels)}"


def required_text(remark: str) -> str:
    """Return a remark on a requirement as one of several notes."""
    return f"required: {remark}"


def _seen(bar: Bar) -> str:
    match bar.status:
        case "fails":
            return bar.told
        case "falls back":
            return "pinned to the device, it computes on the host"
        case "silently wrong" | "refused":
            return f"{bar.status}: {bar.told}"

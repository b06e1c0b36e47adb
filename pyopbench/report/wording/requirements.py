"""Requirements in words: what the current callback blocks, what was removed by which probe, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from pyopbench.core import formatting
from pyopbench.judge.bars import Bar, Unknown
from pyopbench.judge.requirements import GPU, PROBES

TRIED_WITH = (
    "what a variant can do was tried with x³ of four numbers and not with each op: try yours as well before you rely "
    "on it"
)
"""Goes with every requirement that a probe settles."""


def blocks_text(baseline: str, requirements: Sequence[str]) -> str:
    """Return what the current callback was seen not to do.

    Args:
        baseline: the current callback.
        requirements: what it does not meet, at least one.
    """
    return f"As long as {baseline} stays, it blocks {formatting.listing(requirements)}, however fast it is."


def bar_text(labels: Sequence[str], bar: Bar) -> str:
    """Return what some variants were not seen to do, each in the way of `bar`, and by which probe."""
    if not bar.was_seen:
        return (
            f"{formatting.listing(labels)} cannot be tried for {bar.requirement} (probe {bar.probe}: {bar.told}), so "
            f"nobody has seen that it works"
        )
    return f"{formatting.listing(labels)} cannot do {bar.requirement} (probe {bar.probe}: {_seen(bar)})"


def unknown_text(unknown: Unknown) -> str:
    """Return what is not known of some variants, what follows from that, and the command that finds out."""
    labels = ",".join(unknown.labels)
    command = (
        "pyopbench placement --out RUN/placement.json"
        if unknown.requirement == GPU
        else f"pyopbench probe --probe {PROBES[unknown.requirement]} --variant {labels} --out RUN/probes.json"
    )
    return (
        f"whether they can do {unknown.requirement} is not known of {', '.join(unknown.labels)}, so none of them is "
        f"recommended; `{command}` finds out (with --tf where the run is of another TensorFlow), then report again"
    )


def required_text(remark: str) -> str:
    """Return a remark on a requirement as one of several notes."""
    return f"required: {remark}"


def _seen(bar: Bar) -> str:
    match bar.status:
        case "fails":
            return bar.told
        case "falls back":
            return "pinned to the device, it computes on the host"
        case "silently wrong" | "refused" | "does not apply":
            return f"{bar.status}: {bar.told}"

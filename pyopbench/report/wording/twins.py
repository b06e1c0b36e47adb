"""What became of code that was measured twice in one run, in words."""

from __future__ import annotations

from pyopbench.judge.twins import Twins
from pyopbench.model import formatting


def twins_text(twins: Twins) -> str:
    """Return how many pairs of identical code were told apart, shown equal, or left open; "" without a pair."""
    if not twins.pairs:
        return ""
    effect = formatting.percent(twins.minimum_effect)
    apart, equal, many = len(twins.told_apart), len(twins.equal), len(twins.pairs)
    found = f"{apart:,} found different, {equal:,} equal within {effect}, {many - apart - equal:,} unresolved"
    measured = f"{formatting.count(many, 'callback')} measured twice, under two names"
    return f"Identical code in this run ({measured}): {found}; largest difference {formatting.points(twins.farthest)}."

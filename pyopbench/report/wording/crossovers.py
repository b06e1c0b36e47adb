"""Where variants change places, in words."""

from __future__ import annotations

from pyopbench.judge.decision import Crossover, SizeTrend
from pyopbench.model import formatting


def fastest_text(crossover: Crossover, unit: str) -> str:
    """Return where the fastest changes, and how far that may be off, in a line."""
    size = formatting.about_size(crossover.size)
    said = f"{crossover.before} is fastest up to about {size} {unit}, {crossover.after} beyond"
    low, high = crossover.low, crossover.high
    if low is None and high is None:
        return said
    span = formatting.about_sizes(low, high)
    return f"{said} (95% interval of the crossover: {span})"


def size_trend_text(trend: SizeTrend) -> str:
    """Return where a candidate that never crosses the current callback clearly differs from it."""
    if trend.answer == "unclear":
        return "no clear difference"
    if trend.clear == trend.sizes:
        return f"{trend.answer} at every size"
    return (
        f"{trend.answer} at {formatting.listing([formatting.size(size) for size in trend.clear])}, elsewhere not clear"
    )


def change_text(label: str, crossover: Crossover) -> str:
    """Return what a candidate is below and above a crossover with the current callback."""
    first, then = ("faster", "slower") if crossover.before == label else ("slower", "faster")
    perhaps = "" if is_closed(crossover) else ", if they cross at all"
    return f"{first} below, {then} above{perhaps}"


def is_closed(crossover: Crossover) -> bool:
    """Return whether measured sizes are clear on both sides, so that the crossover lies between them."""
    return crossover.low is not None and crossover.high is not None

"""What of a certificate is not as good as promised, in words."""

from __future__ import annotations

from pyopbench.core import formatting
from pyopbench.results.certificate import (
    MayBeToldApart,
    Miss,
    NoIdenticalPairs,
    Pairs,
    SlowdownMissed,
    ToldApart,
    TooCostly,
)


def miss_text(miss: Miss) -> str:
    """Return what was found, and what is promised."""
    match miss:
        case NoIdenticalPairs():
            return "no identical pair has a verdict"
        case ToldApart(pairs, most):
            return f"{_told_apart(pairs)}, {formatting.percent(pairs.share)}; {_at_most(most)}"
        case MayBeToldApart(pairs, most):
            return f"{_told_apart(pairs)}: up to {formatting.percent(pairs.bound)}; {_at_most(most)}"
        case SlowdownMissed(pairs, least):
            return (
                f"{pairs.hits} of {pairs.pairs} slowdowns by {pairs.percent}% were found, "
                f"{formatting.percent(pairs.share)}; promised are at least {formatting.percent(least)}"
            )
        case TooCostly(overhead, most):
            call = formatting.seconds(overhead.known_seconds)
            return f"timing adds {formatting.percent(overhead.share)} to a call of {call}; {_at_most(most)}"


def _told_apart(pairs: Pairs) -> str:
    return f"{pairs.hits} of {formatting.count(pairs.pairs, 'identical pair')} were told apart"


def _at_most(most: float) -> str:
    return f"promised are at most {formatting.percent(most)}"

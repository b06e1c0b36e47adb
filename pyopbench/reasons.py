"""Why a decision is what it is, in a sentence or two."""

from __future__ import annotations

import math

from pyopbench import text
from pyopbench.candidates import Comparison
from pyopbench.choice import Choice, Gain
from pyopbench.flips import settling
from pyopbench.mix import Mix

MOST_NAMED = 3
"""Open candidates that a reason names; the verdicts list all of them."""


def reason_of(choice: Choice, comparison: Comparison, mix: Mix) -> str:
    """Say what speaks for `choice`, and which numbers were missing when it was made."""
    required = [f"{comparison.baseline} cannot stay, for what is required"] if comparison.must_change else []
    return "; ".join([_evidence(choice, comparison), *required, *_missing(comparison, mix)])


def _evidence(choice: Choice, comparison: Comparison) -> str:
    baseline = comparison.baseline
    if choice.gain is None:
        able = " that can do what is required" if comparison.barred else ""
        return f"nothing{able} was measured beside {baseline} at all sizes of the mix"
    border = text.ratio(choice.threshold)
    if choice.action == "keep":
        best = _measured(choice.gain)
        return f"every measured variant stays below {border} the speed of {baseline}: the best is {best}"
    if choice.action == "undecided":
        by_gain = sorted(choice.open, key=lambda gain: (-gain.value, gain.label))
        named = [_measured(gain) for gain in by_gain[:MOST_NAMED]]
        others = [text.count(len(by_gain) - MOST_NAMED, "other")] if len(by_gain) > MOST_NAMED else []
        still_open = text.listing([*named, *others])
        return f"{still_open} may lie on either side of {border} the speed of {baseline}; {settling(choice)}"
    return f"{_measured(choice.gain)} against {baseline}{_passed_over(choice, choice.gain)}"


def _measured(gain: Gain) -> str:
    launches = text.count(gain.log.n, "launch", "launches")
    if math.isnan(gain.low):
        return f"{gain.label} at {text.ratio(gain.value)} ({launches})"
    return f"{gain.label} at {text.ratio(gain.value)} ({text.interval(gain.low, gain.high)}, {launches})"


def _passed_over(choice: Choice, chosen: Gain) -> str:
    """Name the fastest of the clear ones by its centre, where it was not chosen."""
    clear = (gain for gain in choice.gains if gain.low > choice.threshold)
    fastest = max(clear, key=lambda gain: gain.value, default=chosen)
    if fastest is chosen or fastest.value <= chosen.value * choice.threshold:
        return ""
    work = ", and takes more work" if fastest.candidate.effort > chosen.candidate.effort else ""
    return f"; {_measured(fastest)} is not clearly faster than that{work}"


def _missing(comparison: Comparison, mix: Mix) -> list[str]:
    gone = [size for size in comparison.planned if size not in comparison.seconds]
    notes = [f"{comparison.missing(comparison.baseline, gone)}, so this says nothing about it"] if gone else []
    for candidate in comparison.candidates:
        lacks = candidate.lacks(mix)
        if lacks:
            notes.append(f"{comparison.missing(candidate.label, lacks)} and is a candidate only at the other sizes")
        elif not len(candidate.over(mix)):
            notes.append(f"{candidate.label} has no launch with all sizes of the mix and is a candidate only by size")
    return notes

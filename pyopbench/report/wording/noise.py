"""How quiet the machine was, and what noise leaves open, in words."""

from __future__ import annotations

import math

from pyopbench.judge.noise import Disturbance
from pyopbench.model import formatting
from pyopbench.stats import estimate


def reach_text(disturbance: Disturbance) -> str:
    """Return what the launches that were made can show, a clause; there has to be a smallest effect."""
    made = formatting.count(disturbance.launches_made, "launch", "launches")
    effect = formatting.smallest_difference(disturbance.smallest_effect)
    if effect == formatting.TOO_NOISY:
        return f"{made} cannot even show a factor of two"
    return f"{made} cannot show a difference below {effect}"


def spread_text(disturbance: Disturbance) -> str:
    """Return what launches differ by and what they can show, a sentence; there has to be a smallest effect."""
    every = formatting.count(disturbance.verdicts, "comparison")
    return (
        f"In a typical comparison launches differ by {formatting.percent(disturbance.usual_spread)} of the current "
        f"time. {reach_text(disturbance)} there, once intervals are corrected for {every}."
    )


def noise_warning(disturbance: Disturbance) -> str:
    """Return what noise leaves open, and what would help, in sentences; empty where it leaves nothing open."""
    if not disturbance.too_noisy or disturbance.smallest_effect is None:
        return ""
    return (
        f"{spread_text(disturbance)} {_unresolved(disturbance)}; {_more_launches(disturbance)}. Stop other work, or "
        f"pin the run to idle cores (taskset -c 0,1 pyopbench run ...).{_larger_effect(disturbance.smallest_effect)}"
    )


def noise_line(disturbance: Disturbance, undecided: int, decisions: int) -> str:
    """Return the same in one line for a terminal.

    Args:
        disturbance: how quiet the machine was.
        undecided: how many of the decisions are left open.
        decisions: how many there are.
    """
    if not disturbance.too_noisy or disturbance.smallest_effect is None:
        return ""
    enough = disturbance.enough_launches
    left = f"{undecided:,} of {formatting.count(decisions, 'answer')} undecided" if undecided else "answers are clear"
    what = f"{left}, {disturbance.unresolved:,} of {formatting.count(disturbance.verdicts, 'comparison')} unresolved"
    if enough is None:
        return f"Noise: {what}; stop other work on the machine"
    if undecided:
        return f"Noise: {what}"  # each undecided answer has a command of its own
    return f"Noise: {what}; {_asked(disturbance)} would resolve {_half(disturbance)}"


def _unresolved(disturbance: Disturbance) -> str:
    verb = "is" if disturbance.unresolved == 1 else "are"
    return f"{disturbance.unresolved:,} {verb} unresolved"


def _more_launches(disturbance: Disturbance) -> str:
    enough, which = disturbance.enough_launches, _half(disturbance)
    if enough is None:
        return f"to resolve {which} would take more than {estimate.MOST_LAUNCHES:,} launches"
    more = _asked(disturbance) + ("" if disturbance.is_unlimited else ", with enough --budget")
    return f"about {enough:,} launches would resolve {which} ({more})"


def _asked(disturbance: Disturbance) -> str:
    """Return what to ask for: where only the budget limits launches, a number would limit them."""
    return "a longer --budget" if disturbance.is_unlimited else f"--launches {disturbance.enough_launches}"


def _half(disturbance: Disturbance) -> str:
    return "it" if disturbance.unresolved == 1 else "half of them"


def _larger_effect(smallest: float) -> str:
    # Rounded up, so that the advice is enough; a minimum effect of 1 or more is none.
    effect = math.ceil(smallest * 100) / 100
    return f" Or accept a larger minimum effect (--min-effect {effect:.2f})." if effect < 1 else ""

"""How quiet the machine was, and what noise leaves open, in words."""

from __future__ import annotations

import math

from pyopbench.core import formatting
from pyopbench.judge.noise import Disturbance
from pyopbench.stats import estimate


def reach_text(disturbance: Disturbance) -> str:
    """Return what the launches that were made can show, a clause; there has to be a smallest effect."""
    made = formatting.count(disturbance.launches_made, "launch", "launches")
    effect = formatting.smallest_difference(disturbance.smallest_effect)
    if effect == formatting.TOO_NOISY:
        return f"{made} are {effect}, even whether something takes twice as long"
    return f"{made} can tell no difference below {effect}"


def noise_warning(disturbance: Disturbance) -> str:
    """Return what noise leaves open, and what would help, in sentences; empty where it leaves nothing open."""
    if not disturbance.too_noisy or disturbance.smallest_effect is None:
        return ""
    unresolved = disturbance.unresolved
    left = f"{unresolved:,} of {formatting.count(disturbance.verdicts, 'comparison')}"
    return (
        f"Launches usually differ by {formatting.percent(disturbance.usual_spread)}, so that "
        f"{reach_text(disturbance)}: "
        f"{left} {'is' if unresolved == 1 else 'are'} unresolved. {_more_launches(disturbance)} It helps to stop other "
        f"work, and to pin to cores of one's own (taskset -c 0,1 pyopbench run ...)."
        f"{_larger_effect(disturbance.smallest_effect)}"
    )


def _more_launches(disturbance: Disturbance) -> str:
    enough, minimum = disturbance.enough_launches, formatting.percent(disturbance.minimum_effect)
    if enough is None:
        return f"Differences of {minimum} take more launches than anybody waits for (over {estimate.MOST_LAUNCHES:,})."
    return (
        f"Differences of {minimum} take about {enough:,} launches (--launches {enough}, with a --budget that "
        "allows for them); what each comparison takes by itself is told beside it."
    )


def _larger_effect(smallest: float) -> str:
    # Rounded up, so that the advice is enough; a minimum effect of 1 or more is none.
    effect = math.ceil(smallest * 100) / 100
    return f" Or accept a larger minimum effect (--min-effect {effect:.2f})." if effect < 1 else ""

"""How a run is measured: the usual settings, what a caller says instead, and what `run.json` keeps to continue it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyopbench.model.case import UNLIMITED, UNTIL, Axes, Until
from pyopbench.model.errors import BadInput
from pyopbench.model.option_text import option_text


@dataclass(frozen=True)
class Settings:
    """How to measure.

    Attributes:
        seed: makes the order of groups, workers and rounds repeatable.
        launches: worker processes at the most for each case, each of which gives one number for it.
        first_rounds: timed blocks of each case in a launch before the data are looked at.
        rounds: timed blocks of each case in a launch, at the most, in all its sweeps.
        until: `decided` ends a case once no answer depends on it, `resolved` once its comparison with the baseline is
            resolved or out of reach as well; `end` measures all cases alike to the end, whatever the data look like.
        block_seconds: about how long a block lasts.
        group_seconds: about how long the rounds of one group may take in one sweep of one launch; slow cases get fewer.
        budget_seconds: nothing is begun that would probably end later than this, but what it takes to have two numbers
            for each case; None for no limit.
        case_timeout_seconds: how long one case may be silent.
    """

    seed: int
    launches: int
    first_rounds: int
    rounds: int
    until: Until
    block_seconds: float
    group_seconds: float
    budget_seconds: float | None
    case_timeout_seconds: float


QUICK = Settings(
    seed=0,
    launches=8,
    first_rounds=6,
    rounds=120,
    until="decided",
    block_seconds=0.0005,
    group_seconds=0.3,
    budget_seconds=170.0,
    case_timeout_seconds=60.0,
)

QUICK_OP_SECONDS = 45.0
"""Budget of a quick run for each op that it names, up to that of all: with planning and the report, one takes a minute
on two cores."""

THREADS_TIMES = 2
"""By how much longer a quick run is that also calls from several threads, whose blocks last a hundred times as long."""

FULL = Settings(
    seed=0,
    launches=24,
    first_rounds=12,
    rounds=240,
    until="resolved",
    block_seconds=0.0005,
    group_seconds=1.0,
    budget_seconds=None,
    case_timeout_seconds=120.0,
)


def settings_for(
    axes: Axes,
    *,
    launches: int | None = None,
    until: str | None = None,
    budget_seconds: float | None = None,
    compares: bool = False,
) -> Settings:
    """Return the settings of a quick run or of a full one, with what is given in place of the usual.

    Args:
        axes: what to cover; `quick` says which settings are the usual ones.
        launches: as in `Settings`; None for the usual. Where sides are compared within a budget, there are as many
            launches and rounds as it allows.
        until: None for the usual: a quick run stops once its answers are decided.
        budget_seconds: None for the usual: a quick run of few ops has less.
        compares: are several sides compared?

    Raises:
        BadInput: `until` is not one of `UNTIL`.
    """
    if until is not None and until not in UNTIL:
        raise BadInput(
            "there is no such point to stop at",
            received=option_text("until", until),
            legal=f"one of {', '.join(UNTIL)}",
            hint="leave it out for the default",
        )
    usual = QUICK if axes.quick else FULL
    budget = _usual_budget(axes, usual) if budget_seconds is None else budget_seconds
    if budget is not None and compares and launches is None:
        usual = replace(usual, launches=UNLIMITED, rounds=UNLIMITED)
    return replace(usual, launches=launches or usual.launches, until=until or usual.until, budget_seconds=budget)


def _usual_budget(axes: Axes, usual: Settings) -> float | None:
    """Return the usual budget: less for a quick run of few ops, and more for threads and for several devices."""
    if usual.budget_seconds is None:
        return None
    named = QUICK_OP_SECONDS * len(axes.ops) or usual.budget_seconds
    return min(named, usual.budget_seconds) * (THREADS_TIMES if axes.threads else 1) * len(axes.placements)

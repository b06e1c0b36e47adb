"""Why a verdict is left open, and what would settle it, in words."""

from __future__ import annotations

from pyopbench.core import formatting
from pyopbench.stats.unresolved import (
    AcrossBorder,
    FewOtherCases,
    InterleavedRun,
    MoreLaunches,
    MoreLaunchesOfBothRuns,
    MoreMachines,
    NeverPaired,
    NotAboveZero,
    OneLaunch,
    Remedy,
    Unresolved,
)


def unresolved_text(reason: Unresolved) -> str:
    """Return why a verdict is left open; a clause, without a full stop."""
    match reason:
        case NeverPaired():
            return "never measured in one launch and round together with the baseline"
        case OneLaunch():
            return "one launch gives no interval"
        case FewOtherCases():
            others = f"only {formatting.count(reason.others, 'other case')}" if reason.others else "no other case"
            return f"one launch, and {others} to tell how much launches differ"
        case NotAboveZero(lost, launches):
            made = formatting.count(launches, "launch", "launches")
            return f"too small to compare by a ratio: in {lost} of {made} its cost is not above zero"
        case AcrossBorder():
            low, high, border = (formatting.ratio(ratio) for ratio in (reason.low, reason.high, reason.border))
            return (
                f"the interval corrected for {_correction(reason)} reaches from {low} to {high}, across the border of "
                f"{border}; {remedy_text(reason.remedy)}"
            )


def remedy_text(found: Remedy) -> str:
    """Return what would settle an open verdict; a clause, without a full stop."""
    match found:
        case MoreLaunches(launches, None, most):
            return f"more than {most:,} launches would be needed instead of {launches}"
        case MoreLaunches(launches, enough, _):
            return f"about {enough} launches instead of {launches} would settle it"
        case MoreMachines(machines, None):
            return f"machines differ by too much for any number of them to settle it, instead of {machines}"
        case MoreMachines(machines, enough):
            return f"about {enough} machines instead of {machines} would settle it"
        case MoreLaunchesOfBothRuns():
            return "more launches in both runs would narrow it"
        case InterleavedRun():
            share = formatting.percent(found.run_spread)
            return f"two runs are taken to differ by {share} in themselves, which only an interleaved run takes out"


def _correction(reason: AcrossBorder) -> str:
    """Return what the level of the interval is corrected for."""
    verdicts = formatting.count(reason.verdicts, "verdict")
    return f"{verdicts} at {reason.looks} looks" if reason.looks > 1 else verdicts

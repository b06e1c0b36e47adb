"""Why a verdict is left open, and what would settle it, in words."""

from __future__ import annotations

from pyopbench.model import formatting
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
            return "never measured in the same launch and round as the baseline"
        case OneLaunch():
            return "one launch gives no interval"
        case FewOtherCases():
            others = f"only {formatting.count(reason.others, 'other case')}" if reason.others else "no other case"
            return f"one launch, and {others} to show how much launches differ"
        case NotAboveZero(lost, launches):
            made = formatting.count(launches, "launch", "launches")
            return f"too small for a ratio: in {lost} of {made} its cost is not above zero"
        case AcrossBorder():
            low, high, border = (formatting.ratio(ratio) for ratio in (reason.low, reason.high, reason.border))
            return (
                f"the interval (corrected for {_correction(reason)}) is {low} to {high} and includes {border}; "
                f"{remedy_text(reason.remedy)}"
            )


def remedy_text(found: Remedy) -> str:
    """Return what would settle an open verdict; a clause, without a full stop."""
    match found:
        case MoreLaunches(launches, None, most):
            return f"this would take more than {most:,} launches instead of {launches}"
        case MoreLaunches(launches, enough, _):
            return f"about {enough} launches instead of {launches} would decide it"
        case MoreMachines(machines, None):
            return f"machines differ too much for any number of them to decide it, instead of {machines}"
        case MoreMachines(machines, enough):
            return f"about {enough} machines instead of {machines} would decide it"
        case MoreLaunchesOfBothRuns():
            return "more launches in both runs would narrow it"
        case InterleavedRun():
            share = formatting.percent(found.run_spread)
            return f"separate runs are assumed to differ by {share}; an interleaved run avoids that"


def _correction(reason: AcrossBorder) -> str:
    """Return what the level of the interval is corrected for."""
    verdicts = formatting.count(reason.verdicts, "verdict")
    return f"{verdicts} at {reason.looks} looks" if reason.looks > 1 else verdicts

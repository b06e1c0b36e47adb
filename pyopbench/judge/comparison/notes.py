"""What a reader has to know before the table of a comparison, as values; `wording.comparison` has the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.judge.comparison.diff import Comparison
from pyopbench.stats.unresolved import Unresolved
from pyopbench.store.limitations import Limitation, OnlyOneLaunch


@dataclass(frozen=True)
class DifferentProcessors:
    """Both sides ran on different processors, so that ratios compare machines."""

    first: str
    second: str
    kind: Literal["different_processors"] = "different_processors"


@dataclass(frozen=True)
class Paired:
    """Ratios are paired, by the rounds of the same processes (`round`) or by blocks of launches (`block`)."""

    by: Literal["round", "block"]
    kind: Literal["paired"] = "paired"


@dataclass(frozen=True)
class NotPaired:
    """Both sides were not measured interleaved.

    Attributes:
        run_spread: the least by which two runs are taken to differ, as a share; one standard deviation.
        common: by how much all cases moved together, a ratio.
    """

    run_spread: float
    common: float
    kind: Literal["not_paired"] = "not_paired"


@dataclass(frozen=True)
class SteppedDown:
    """Cases share the error by steps, and each interval is the one that its verdict goes by.

    Attributes:
        error: how often any verdict of such a comparison may be wrong, as a share.
        looks: how often the data were looked at, or could have been; the error is shared among these too.
        comparisons: of one run, among which it is shared as well.
    """

    error: float
    looks: int
    comparisons: int = 1
    kind: Literal["stepped_down"] = "stepped_down"


@dataclass(frozen=True)
class NoInterval:
    """No case has an interval, so that nothing is told apart; the reason of the first one."""

    reason: Unresolved | None
    kind: Literal["no_interval"] = "no_interval"


@dataclass(frozen=True)
class SmallestSlowdown:
    """The slowdown, as a share, from which on one would be found in a usual case."""

    slowdown: float
    kind: Literal["smallest_slowdown"] = "smallest_slowdown"


Reach: TypeAlias = NoInterval | SmallestSlowdown
Note: TypeAlias = DifferentProcessors | Paired | NotPaired | SteppedDown | Reach | Limitation


def notes_of(comparison: Comparison) -> tuple[Note, ...]:
    """Return what a reader has to know before the table, the gravest first."""
    sides = comparison.sides
    limitations = dict.fromkeys(one for side in (sides.first, sides.second) for run in side.runs for one in run.cannot)
    return (
        *(DifferentProcessors(one.first, one.second) for one in comparison.differences if one.loud),
        NotPaired(comparison.run_spread, comparison.common) if sides.paired == "" else Paired(sides.paired),
        *(
            (SteppedDown(comparison.error, comparison.looks, comparison.among),)
            if comparison.smallest is not None
            else ()
        ),
        reach_of(comparison),
        # That one launch has no interval is what the reach is about.
        *(one for one in limitations if not isinstance(one, OnlyOneLaunch)),
    )


def reach_of(comparison: Comparison) -> Reach:
    """Return which slowdown would have been found."""
    if comparison.smallest is None:
        return NoInterval(comparison.cases[0].verdict.reason)
    return SmallestSlowdown(comparison.smallest)

"""Why a verdict is left open, and what would settle it: values with their numbers, each with its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.model import formatting


def _correction(reason: AcrossBorder) -> str:
    """Return what the level of the interval is corrected for."""
    verdicts = formatting.count(reason.verdicts, "verdict")
    return f"{verdicts} at {reason.looks} analyses of the data" if reason.looks > 1 else verdicts


@dataclass(frozen=True)
class NeverPaired:
    """No launch has a round in which both the case and its baseline were measured."""

    kind: Literal["never_paired"] = "never_paired"

    def text(self) -> str:
        """Return why a verdict is left open; a clause, without a full stop."""
        return "never measured in the same launch and round as the baseline"


@dataclass(frozen=True)
class OneLaunch:
    """There is one launch, and one launch gives no interval."""

    kind: Literal["one_launch"] = "one_launch"

    def text(self) -> str:
        """Return why a verdict is left open; a clause, without a full stop."""
        return "one launch gives no interval"


@dataclass(frozen=True)
class FewOtherCases:
    """One of two runs has one launch, and only `others` other cases to show how much launches differ."""

    others: int
    kind: Literal["few_other_cases"] = "few_other_cases"

    def text(self) -> str:
        """Return why a verdict is left open; a clause, without a full stop."""
        others = f"only {formatting.count(self.others, 'other case')}" if self.others else "no other case"
        return f"one launch, and {others} to show how much launches differ"


@dataclass(frozen=True)
class NotAboveZero:
    """In `lost` of `launches` launches of one side the cost of an op in a graph came out at zero or below.

    It is a difference of two times that is smaller than their noise, and has no ratio to another.
    """

    lost: int
    launches: int
    kind: Literal["not_above_zero"] = "not_above_zero"

    def text(self) -> str:
        """Return why a verdict is left open; a clause, without a full stop."""
        made = formatting.count(self.launches, "launch", "launches")
        return f"too small for a ratio: in {self.lost} of {made} its cost is not above zero"


@dataclass(frozen=True)
class MoreLaunches:
    """About `enough` launches in all instead of `launches` would settle it; None if that is more than `most`."""

    launches: int
    enough: int | None
    most: int
    kind: Literal["launches_needed"] = "launches_needed"

    def text(self) -> str:
        """Return what would settle an open verdict; a clause, without a full stop."""
        if self.enough is None:
            return f"this would take more than {self.most:,} launches instead of {self.launches}"
        return f"about {self.enough} launches instead of {self.launches} would decide it"


@dataclass(frozen=True)
class MoreLaunchesOfBothRuns:
    """The launches of two runs scatter by more than the runs differ, so that more of them would narrow the interval."""

    kind: Literal["more_launches_of_both_runs"] = "more_launches_of_both_runs"

    def text(self) -> str:
        """Return what would settle an open verdict; a clause, without a full stop."""
        return "more launches in both runs would narrow it"


@dataclass(frozen=True)
class InterleavedRun:
    """Two runs are taken to differ by `run_spread` (a share) in themselves; only an interleaved run takes that out."""

    run_spread: float
    kind: Literal["interleaved_run"] = "interleaved_run"

    def text(self) -> str:
        """Return what would settle an open verdict; a clause, without a full stop."""
        share = formatting.percent(self.run_spread)
        return f"separate runs are assumed to differ by {share}; an interleaved run avoids that"


Remedy: TypeAlias = MoreLaunches | MoreLaunchesOfBothRuns | InterleavedRun
"""What would settle an open verdict."""


@dataclass(frozen=True)
class AcrossBorder:
    """The corrected interval holds a border of the minimum effect.

    Attributes:
        low, high: the ends of the interval of the ratio, corrected for all verdicts and looks.
        border: the ratio that lies between them.
        verdicts: how many verdicts it is corrected for.
        looks: how many looks at the data it is corrected for.
        remedy: what would settle it.
    """

    low: float
    high: float
    border: float
    verdicts: int
    looks: int
    remedy: Remedy
    kind: Literal["across_border"] = "across_border"

    def text(self) -> str:
        """Return why a verdict is left open; a clause, without a full stop."""
        low, high, border = (formatting.ratio(ratio) for ratio in (self.low, self.high, self.border))
        return (
            f"the interval (corrected for {_correction(self)}) is {low} to {high} and includes {border}; "
            f"{self.remedy.text()}"
        )


Unresolved: TypeAlias = NeverPaired | OneLaunch | FewOtherCases | NotAboveZero | AcrossBorder
"""Why a verdict is left open."""

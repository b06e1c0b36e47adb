"""Why a verdict is left open, and what would settle it, as values; `wording.verdicts` has the sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class NeverPaired:
    """No launch has a round in which both the case and its baseline were measured."""

    kind: Literal["never_paired"] = "never_paired"


@dataclass(frozen=True)
class OneLaunch:
    """There is one launch, and one launch gives no interval."""

    kind: Literal["one_launch"] = "one_launch"


@dataclass(frozen=True)
class FewOtherCases:
    """One of two runs has one launch, and only `others` other cases to show how much launches differ."""

    others: int
    kind: Literal["few_other_cases"] = "few_other_cases"


@dataclass(frozen=True)
class NotAboveZero:
    """In `lost` of `launches` launches of one side the cost of an op in a graph came out at zero or below.

    It is a difference of two times that is smaller than their noise, and has no ratio to another.
    """

    lost: int
    launches: int
    kind: Literal["not_above_zero"] = "not_above_zero"


@dataclass(frozen=True)
class MoreLaunches:
    """About `enough` launches in all instead of `launches` would settle it; None if that is more than `most`."""

    launches: int
    enough: int | None
    most: int
    kind: Literal["launches_needed"] = "launches_needed"


@dataclass(frozen=True)
class MoreLaunchesOfBothRuns:
    """The launches of two runs scatter by more than the runs differ, so that more of them would narrow the interval."""

    kind: Literal["more_launches_of_both_runs"] = "more_launches_of_both_runs"


@dataclass(frozen=True)
class InterleavedRun:
    """Two runs are taken to differ by `run_spread` (a share) in themselves; only an interleaved run takes that out."""

    run_spread: float
    kind: Literal["interleaved_run"] = "interleaved_run"


@dataclass(frozen=True)
class MoreMachines:
    """About `enough` machines in all instead of `machines` would settle it; None if that is more than anybody has."""

    machines: int
    enough: int | None
    kind: Literal["machines_needed"] = "machines_needed"


Remedy: TypeAlias = MoreLaunches | MoreMachines | MoreLaunchesOfBothRuns | InterleavedRun
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


Unresolved: TypeAlias = NeverPaired | OneLaunch | FewOtherCases | NotAboveZero | AcrossBorder
"""Why a verdict is left open."""

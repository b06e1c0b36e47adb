"""What would settle an undecided choice, as findings: kinds with their numbers, as in `findings`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class SecondLaunch:
    """One launch gives no interval."""

    kind: Literal["second_launch"] = "second_launch"


@dataclass(frozen=True)
class MoreLaunches:
    """About how many launches in all would settle the choice.

    Attributes:
        label: the candidate that it hangs on.
        launches: how many there are.
        enough: how many would do; None if that is more than anybody waits for (`estimate.MOST_LAUNCHES`).
    """

    label: str
    launches: int
    enough: int | None
    kind: Literal["more_launches"] = "more_launches"


@dataclass(frozen=True)
class MoreMachines:
    """About how many machines in all would settle the choice, because machines differ.

    Attributes:
        label: the candidate that it hangs on.
        machines: how many there are.
        enough: how many would do; None if that is more than anybody has.
    """

    label: str
    machines: int
    enough: int | None
    kind: Literal["more_machines"] = "more_machines"


Settling: TypeAlias = SecondLaunch | MoreLaunches | MoreMachines

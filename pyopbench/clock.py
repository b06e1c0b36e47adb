"""The time that a run has left: told before each group, and weighed against the budget before each launch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyopbench.pace import Pace, Progress
from pyopbench.settings import Settings

LEAST_LAUNCHES = 2
"""With fewer there is no interval, so that many are made whatever the budget."""

Tell = Callable[[Progress], None]


@dataclass(frozen=True)
class Place:
    """Where a run stands: before a group, with what is left of its launch.

    Attributes:
        launch: from 0.
        group: the next one.
        done, total: groups of the launch that are finished, and all of them.
        rest_cases, whole_cases: cases that are left in this launch, and those of each launch to come.
    """

    launch: int
    group: str
    done: int
    total: int
    rest_cases: int
    whole_cases: int


@dataclass
class Clock:
    """Turns what is done into progress with the time left, and knows when the budget is spent.

    Attributes:
        settings: of the run.
        planned: groups of its plan.
        show: is told of progress.
        began: when, on the monotonic clock.
        beside: the clocks of all runs that take turns, this one too; their time is spent before this run ends.
        left: seconds that this run will take by itself; None until there is something to estimate it from.
        made: launches that are made.
        spent: whether the budget has ended this run.
    """

    settings: Settings
    planned: int
    show: Tell
    began: float
    beside: Sequence[Clock] = ()
    pace: Pace = field(default_factory=Pace)
    left: float | None = None
    made: int = 0
    spent: bool = False

    def is_short_of(self, cases: int) -> bool:
        """Would a launch of so many cases probably end after the budget, and those of the runs that take turns?

        Runs that take turns end with the same turn, because a launch without its partners is compared with nothing.
        """
        budget = self.settings.budget_seconds
        others = [other for other in self.beside if other is not self]
        if budget is None or any(other.made > self.made for other in others):
            return False
        going_on = [self, *(other for other in others if other.left != 0.0)]
        needed = sum(one.pace.predict(cases, 1) or 0.0 for one in going_on)
        late = time.monotonic() - self.began + needed > budget
        self.spent = late or any(other.spent for other in others)
        return self.spent

    def end_launch(self) -> None:
        """Note that a launch is made."""
        self.pace.end_launch()
        self.made += 1

    def tell(self, place: Place) -> None:
        """Show where the run stands."""
        launches = self.settings.launches
        self.left = self._left_until(launches, place)
        left, budget = self._with_those_beside(self.left), self.settings.budget_seconds
        if left is not None and budget is not None:
            least = self._with_those_beside(self._left_until(LEAST_LAUNCHES, place)) or 0.0
            left = min(left, max(budget - (time.monotonic() - self.began), least))
        self.show(Progress(place.launch, launches, place.group, place.done, place.total, self.planned, left))

    def _left_until(self, launches: int, place: Place) -> float | None:
        further = max(launches - place.launch - 1, 0)
        return self.pace.predict(place.rest_cases + further * place.whole_cases, further)

    def _with_those_beside(self, own: float | None) -> float | None:
        """Add what the other runs will take: as much as this one, where they have not told."""
        if own is None:
            return None
        return own + sum(own if other.left is None else other.left for other in self.beside if other is not self)

    def end(self) -> None:
        """Note that nothing is left of the run."""
        self.left = 0.0

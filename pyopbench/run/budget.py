"""How long a run still takes: estimated from what its launches have taken, and weighed against its budget.

The time left is shown before each group; before each launch the budget is asked whether there is time for another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyopbench.run.settings import Settings

LEAST_LAUNCHES = 2
"""With fewer there is no interval, so that many are made whatever the budget."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands, for people.

    Attributes:
        launch: the launch that is being made, from 0.
        launches: launches at the most; a run may end earlier.
        group: the group that is about to be measured.
        done, total: groups of this launch that are finished, and all of them.
        planned: groups of the plan; later launches may have fewer.
        seconds_left: how long the run may still last; None until there is something to estimate it from.
    """

    launch: int
    launches: int
    group: str
    done: int
    total: int
    planned: int
    seconds_left: float | None


Tell = Callable[[Progress], None]


@dataclass(frozen=True)
class Position:
    """Where a run stands before a group, with what is left of its launch.

    Attributes:
        launch: from 0.
        group: the next one.
        done, total: groups of the launch that are finished, and all of them.
        cases_left, cases_per_launch: cases that are left in this launch, and those of each launch to come.
    """

    launch: int
    group: str
    done: int
    total: int
    cases_left: int
    cases_per_launch: int


@dataclass
class Durations:
    """What starting a worker and measuring a case took, in seconds; of the newest launch that measured anything.

    Time goes by cases and not by groups, because preparing each case takes longer than timing it.
    """

    start_seconds: float = 0.0
    _earlier: tuple[float, int] = (0.0, 0)
    _current: tuple[float, int] = (0.0, 0)

    def add_start(self, seconds: float) -> None:
        """Note what it took until a worker was ready for its first group."""
        self.start_seconds = seconds

    def add_group(self, seconds: float, cases: int) -> None:
        """Note what it took to measure a group of so many cases, in the launch that is being made."""
        self._current = self._current[0] + seconds, self._current[1] + cases

    def end_launch(self) -> None:
        """Let the launch that was just made stand for the next ones: the first is slower, with its finite differences.

        A launch that measured nothing, because it was finished before the run was resumed, changes nothing.
        """
        if self._current[1]:
            self._earlier, self._current = self._current, (0.0, 0)

    @property
    def case_seconds(self) -> float | None:
        """Seconds of a case: in the latest launch that is complete, or else so far; None before the first group."""
        seconds, cases = self._earlier if self._earlier[1] else self._current
        return seconds / cases if cases else None

    def predict(self, cases: int, launches: int = 0) -> float | None:
        """Return about how many seconds so many cases and starts of a worker take; None before the first group."""
        return None if self.case_seconds is None else launches * self.start_seconds + cases * self.case_seconds


@dataclass
class Budget:
    """The time of one run: how much of it is left, and whether another launch fits into it.

    Attributes:
        settings: of the run; its `budget_seconds` is None where nothing limits it.
        planned: groups of its plan.
        show: is called with the progress.
        began: when, on the monotonic clock.
        interleaved: the budgets of all runs whose launches are interleaved, this one too; a launch of each has to fit.
        durations: what launches of this run have taken.
        seconds_left: what this run takes without the others; None until there is something to estimate it from.
        launches_made: how many.
        is_spent: has the budget ended this run?
    """

    settings: Settings
    planned: int
    show: Tell
    began: float
    interleaved: Sequence[Budget] = ()
    durations: Durations = field(default_factory=Durations)
    seconds_left: float | None = None
    launches_made: int = 0
    is_spent: bool = False

    def is_short_of(self, cases: int) -> bool:
        """Would a launch of so many cases, and of the runs that are interleaved with this one, probably end too late?

        Interleaved runs end after the same number of launches, because one without its partners is compared with
        nothing.
        """
        seconds, others = self.settings.budget_seconds, self._others()
        if seconds is None or any(other.launches_made > self.launches_made for other in others):
            return False
        going_on = [self, *(other for other in others if other.seconds_left != 0.0)]
        needed = sum(budget.durations.predict(cases, 1) or 0.0 for budget in going_on)
        is_late = time.monotonic() - self.began + needed > seconds
        self.is_spent = is_late or any(other.is_spent for other in others)
        return self.is_spent

    def end_launch(self) -> None:
        """Note that a launch is made."""
        self.durations.end_launch()
        self.launches_made += 1

    def show_progress(self, position: Position) -> None:
        """Show where the run stands."""
        launches, budget_seconds = self.settings.launches, self.settings.budget_seconds
        self.seconds_left = self._seconds_until(launches, position)
        left = self._with_others(self.seconds_left)
        if left is not None and budget_seconds is not None:
            least = self._with_others(self._seconds_until(LEAST_LAUNCHES, position)) or 0.0
            left = min(left, max(budget_seconds - (time.monotonic() - self.began), least))
        at = position
        self.show(Progress(at.launch, launches, at.group, at.done, at.total, self.planned, left))

    def end(self) -> None:
        """Note that nothing is left of the run."""
        self.seconds_left = 0.0

    def _others(self) -> list[Budget]:
        return [budget for budget in self.interleaved if budget is not self]

    def _seconds_until(self, launches: int, position: Position) -> float | None:
        """Return about how many seconds it takes until so many launches are made."""
        further = max(launches - position.launch - 1, 0)
        return self.durations.predict(position.cases_left + further * position.cases_per_launch, further)

    def _with_others(self, seconds: float | None) -> float | None:
        """Add what the other runs take: as much as this one, where they have no estimate yet."""
        if seconds is None:
            return None
        return seconds + sum(seconds if one.seconds_left is None else one.seconds_left for one in self._others())

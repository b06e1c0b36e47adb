"""What a run does next, and when there is time for it: another sweep, an interim analysis, or other launches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pyopbench.engine import memory
from pyopbench.engine.budget import LEAST_LAUNCHES, Budget
from pyopbench.engine.launch import WarmLaunch
from pyopbench.engine.remaining_work import Analyse, RemainingWork
from pyopbench.engine.sweeps import Sweeps, works_of
from pyopbench.stats import allocation
from pyopbench.stats.corrections import MOST_ANALYSES
from pyopbench.stats.estimate import LEAST_COMPARISONS, MOST_DEGREES

START_SECONDS = 5.0
"""About how long a worker takes to import TensorFlow and to prepare one group; kept for each group that goes apart."""
LEAST_FOR_INTERIM = 4
"""Launches of revisions before the first look, where cases are too few to show which spread is usual with fewer: three
have two degrees of freedom, with which next to nothing is resolved, and every look makes all verdicts stricter."""


class NextStep:
    """Decides between batches of launches, by what those that ended took and made.

    Attributes:
        rounds: that all launches of the batches that ended have made together.
    """

    def __init__(self, works: Sequence[RemainingWork], budget: Budget) -> None:
        """Begin before the first batch of the works of some runs."""
        self._works, self._budget = works, budget
        self.rounds = 0.0
        self._batch_seconds = -math.inf  # the first batch begins whatever time is left
        self._ended: list[allocation.Made] = []

    def note_begin(self) -> None:
        """Note that a batch begins."""
        self._batch_seconds = max(self._batch_seconds, 0.0)

    def note_first_sweep(self, seconds: float) -> None:
        """Note what seconds it took a batch to begin and to sample everything once: another one takes as long."""
        self._batch_seconds = seconds

    def note_end(self, sweeps: Sweeps) -> None:
        """Note what a batch has made."""
        self.rounds += rounds_of(sweeps)
        self._ended.append(sweeps.made)

    def open_works(self) -> list[RemainingWork]:
        """Return the works of which launches are still to be made."""
        return [work for work in self._works if work.most_needed]

    def may_begin(self) -> bool:
        """Whether there is time for another batch, or too few launches for an interval."""
        lacks = min(work.launches for work in self.open_works()) < LEAST_LAUNCHES
        return lacks or self._has_time_for_batch()

    def reserve_seconds(self, works: Sequence[RemainingWork], launches: Sequence[WarmLaunch]) -> float:
        """Return how many seconds to keep for what these workers cannot do: the second launch, and groups apart."""
        numbers = {launch.launch for launch in launches}
        apart = sum(len(work.apart) for work in works) * len(numbers) * START_SECONDS
        lacks = min(work.launches for work in works) + len(numbers) < LEAST_LAUNCHES
        half = self._budget.left / 2 if lacks and not math.isinf(self._budget.left) else 0.0
        return apart + half

    def can_go_on(self, sweeps: Sweeps) -> bool:
        """Whether anything can still be sampled, by these launches or others: else a look would decide nothing."""
        works = works_of(sweeps.launches)
        return any(launch.open_groups() for launch in sweeps.launches) or any(work.most_needed for work in works)

    def is_too_early(self) -> bool:
        """Whether a look would be wasted: launches tell too little as yet, and there is time for more of them."""
        if self._shows_usual_spread() or any(work.checkout is None for work in self._works):
            return False
        has_few = min(work.launches for work in self._works) < LEAST_FOR_INTERIM
        return has_few and bool(self.open_works()) and self._has_time_for_batch()

    def is_another_launch_better(self, sweeps: Sweeps, preparing_seconds: float) -> bool:
        """Whether other launches than these would narrow the intervals of what is open more, in the time left.

        Args:
            sweeps: what the launches that are warm have sampled.
            preparing_seconds: what it took to prepare them.
        """
        needed = max((work.most_needed for work in works_of(sweeps.launches)), default=0)
        variances, made, costs = sweeps.variances(), sweeps.made, sweeps.costs(preparing_seconds)
        if not needed or not self._has_time_for_batch():
            return False
        if variances is None or variances.within == 0:
            return made.rounds >= allocation.LEAST_ROUNDS and self._is_enough_unknown(made, costs)
        known = MOST_DEGREES if self._shows_usual_spread() else 0.0
        left = allocation.Left(self._budget.left, needed)
        return allocation.better(variances, costs, [*self._ended, made], left, known) == "launch"

    def is_worth_replacing(self, lost: WarmLaunch, beside: int) -> bool:
        """Whether to prepare a new launch for one that was lost.

        Args:
            lost: the launch.
            beside: how many others of its run are warm.
        """
        if beside < LEAST_LAUNCHES:
            return True
        has_room = memory.has_room(1, lost.worker_bytes or memory.ASSUMED_BYTES, [])
        return has_room and self._budget.left >= 2 * lost.seconds

    def _has_time_for_batch(self) -> bool:
        return self._batch_seconds < self._budget.left

    def _shows_usual_spread(self) -> bool:
        """Whether cases are enough to show how much launches usually differ, however few of these there are."""
        return any(len(work.unfailed()) >= LEAST_COMPARISONS for work in self._works)

    def _is_enough_unknown(self, made: allocation.Made, costs: allocation.Costs) -> bool:
        """Whether others are to begin although nothing shows how far launches differ: for a look, or to show that."""
        is_alone = len(self._works) > 1 and sum(batch.launches for batch in [*self._ended, made]) == 1
        return self.is_too_early() or (is_alone and made.rounds * costs.round_seconds >= costs.launch_seconds)


def rounds_of(sweeps: Sweeps) -> float:
    """Return how many rounds all launches together have made, of what they have made most of."""
    return sum(max(launch.rounds.values(), default=0) for launch in sweeps.launches)


AnalyseTogether: TypeAlias = Callable[[int], Mapping[Path, frozenset[str]]]
"""Is given how many launches have been sampled in each run, and returns the ids of the cases to measure on, by run."""

MOST_SHARE = 0.2
"""Of the time that is left, which a look may take at the most: it decides how the rest is spent."""


class InterimAnalyses:
    """Holds looks where they may change what comes and there is time for them."""

    def __init__(
        self,
        works: Sequence[RemainingWork],
        looks: Mapping[Path, Analyse],
        together: AnalyseTogether | None,
        budget: Budget,
    ) -> None:
        """Begin before the first look.

        Args:
            works: of the runs.
            looks: what says what is left open of each run, by its folder.
            together: what says it of all at once; None where each is looked at by its own.
            budget: the time that there is.
        """
        self._works, self._looks, self._together, self._budget = works, looks, together, budget

    def hold(self, works: Iterable[RemainingWork]) -> None:
        """Look at these runs, or at all at once: then what is open between two of them is measured on in both."""
        if self._together is not None:
            self._hold_together(self._together)
            return
        for work in works:
            # Of a pipeline it takes no time, and spares a slow arrangement that takes seconds in each round.
            if _is_wanted(work) and (self._has_time() or work.is_in_pipeline):
                with self._budget.looking():
                    work.narrow(self._looks[work.folder])

    def _hold_together(self, look: AnalyseTogether) -> None:
        if self._has_time() and all(_is_wanted(work) for work in self._works if work.unfailed()):
            with self._budget.looking():
                cases = look(min(work.launches for work in self._works))
                for work in self._works:
                    work.narrow_to(cases[work.folder])

    def _has_time(self) -> bool:
        return self._budget.look_seconds < MOST_SHARE * self._budget.left


def _is_wanted(work: RemainingWork) -> bool:
    # What is far from the best in a pipeline is so in every launch.
    least = 1 if work.is_in_pipeline else LEAST_LAUNCHES
    return work.settings.until != "end" and work.looks < WITHIN_RUN and work.launches >= least


LEAST_GROWTH = 2.0
"""Rounds at a look over those at the one before, at the least: less would cost looks that learn little."""
WITHIN_RUN = MOST_ANALYSES - 1
"""Looks that decide what is measured on; what is judged when all is measured is the last one."""


class InterimTimes:
    """Says when a look is due, by the rounds that all launches together have made."""

    def __init__(self, most: float) -> None:
        """Begin before the first look.

        Args:
            most: rounds of all launches together, if the run is measured to its end.
        """
        self._most = most
        self._growth = 0.0
        self._next = 0.0

    def is_due(self, rounds: float) -> bool:
        """Whether a look is due after so many rounds."""
        return rounds >= self._next

    def note(self, rounds: float, affordable: float = math.inf) -> None:
        """Note that one was held, or would have been, after so many rounds; the looks are spread from the first on.

        Args:
            rounds: of all launches together.
            affordable: how many they will have made when the time is used.
        """
        if self._growth == 0.0:
            most = min(self._most, affordable)
            self._growth = max(LEAST_GROWTH, (most / max(rounds, 1.0)) ** (1 / WITHIN_RUN))
        self._next = rounds * self._growth

    def until(self, rounds: float, launches: int) -> int:
        """Return how many rounds each of so many launches has to make until the next look is due, at least one."""
        return max(math.ceil((self._next - rounds) / launches), 1)

"""From a plan to stored samples: workers prepare, stay warm and take turns until the time is used; nothing is lost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pyopbench.core.checkout import Checkout
from pyopbench.results import store
from pyopbench.run import memory
from pyopbench.run.budget import LEAST_LAUNCHES, Budget, Tell
from pyopbench.run.checkouts import used
from pyopbench.run.contrasts import Contrasts
from pyopbench.run.look_times import WITHIN_RUN, LookTimes
from pyopbench.run.remaining_work import Look, RemainingWork, remaining_work
from pyopbench.run.settings import Settings
from pyopbench.run.sweeps import SWEEP_ROUNDS, Sweeps, works_of
from pyopbench.run.warm_launch import WarmLaunch
from pyopbench.run.warming import Warming
from pyopbench.stats import allocation
from pyopbench.stats.spread import LEAST_COMPARISONS, MOST_DEGREES

LOOK_SHARE = 0.2
"""Of the time that is left, which a look may take at the most: it decides how the rest is spent."""
START_SECONDS = 5.0
"""About how long a worker takes to import TensorFlow and to prepare one group; kept for each group that goes apart."""
LEAST_FOR_LOOK = 4
"""Launches of revisions before the first look, where cases are too few to show which spread is usual with fewer: three
have two degrees of freedom, with which next to nothing is resolved, and every look makes all verdicts stricter."""


@dataclass(frozen=True)
class Ended:
    """How many launches have samples, earlier ones included, and what ended the measuring.

    Attributes:
        launches: how many.
        by: `launches` if as many as allowed were made, `budget` if it was spent, and `look` if a look at the data left
            nothing to measure.
        looks: how many were held.
        seconds: what the measuring took.
        sampling_seconds: what of it was sampling, and not preparing, looking or waiting.
    """

    launches: int
    by: Literal["launches", "budget", "look"]
    looks: int = 0
    seconds: float = 0.0
    sampling_seconds: float = 0.0


@dataclass(frozen=True)
class Task:
    """A run to measure.

    Attributes:
        folder: of the run.
        settings: how to measure.
        look: says what is left open, after so many launches that have samples.
        python: the interpreter of its workers; this one if None.
        checkout: the files of the revision that it is of; None for the working tree.
    """

    folder: Path
    settings: Settings
    look: Look
    python: Path | None = None
    checkout: Checkout | None = None


def measure(folder: Path, settings: Settings, tell: Tell, look: Look) -> Ended:
    """Measure what `run.json` in `folder` plans and is not yet in its samples, until nothing is left open.

    Args:
        folder: of the run.
        settings: how to measure.
        tell: is told of every group before it is prepared or sampled.
        look: says what is left open.

    Raises:
        BadInput: another process measures into the folder, or TensorFlow, NumPy or the processor is another one.
        WorkerLost: a worker could not be started.
    """
    (ended,) = measure_together([Task(folder, settings, look)], tell)
    return ended


LookTogether = Callable[[int], Mapping[Path, frozenset[str]]]
"""Is given how many launches have been sampled in each run, and returns the ids of the cases to measure on, by run."""


def measure_together(tasks: Sequence[Task], tell: Tell, look: LookTogether | None = None) -> list[Ended]:
    """Measure several runs by turns: in each sweep all workers of all runs sample a group before the next one's turn.

    So launches of the same number are of the same time, and can be compared in pairs across the runs.

    Args:
        tasks: the runs, each with a folder of its own.
        tell: is told of every group before it is prepared or sampled.
        look: says what is left open of all runs; None where each is looked at by its own.

    Raises:
        BadInput, WorkerLost: as `measure`.
    """
    with ExitStack() as stack:
        for task in tasks:
            stack.enter_context(store.locked(task.folder))
        stack.enter_context(used(task.checkout for task in tasks if task.checkout is not None))
        works = [remaining_work(task.folder, task.settings, task.python, task.checkout) for task in tasks]
        limits = [task.settings.budget_seconds for task in tasks if task.settings.budget_seconds is not None]
        budget = Budget(min(limits, default=None), time.monotonic())
        schedule = _Schedule(
            works, {id(work): task.look for work, task in zip(works, tasks, strict=True)}, budget, tell, look
        )
        return schedule.run()


class _Schedule:
    """Has workers of one batch after another prepare and sample, and decides between them."""

    def __init__(
        self,
        works: Sequence[RemainingWork],
        looks: dict[int, Look],
        budget: Budget,
        tell: Tell,
        look_together: LookTogether | None = None,
    ) -> None:
        self._works, self._looks, self._budget, self._tell = works, looks, budget, tell
        self._look_together = look_together
        self._batches = 0
        self._batch_seconds = 0.0
        self._rounds = 0.0
        self._earlier: list[allocation.Made] = []
        self._contrasts = Contrasts(works)
        self._is_spent = False
        self._times = LookTimes(sum(work.settings.launches * work.settings.rounds for work in works))

    def run(self) -> list[Ended]:
        """Measure until nothing is open, or no launch or no time is left."""
        began_open = {id(work) for work in self._works if work.most_needed}
        while self._open() and self._may_begin():
            self._measure_batch()
        return [self._end(work, is_stored=id(work) in began_open) for work in self._works]

    def _open(self) -> list[RemainingWork]:
        return [work for work in self._works if work.most_needed]

    def _may_begin(self) -> bool:
        """Whether there is time for another batch, or too few launches for an interval."""
        lacks = self._batches == 0 or min(work.launches for work in self._open()) < LEAST_LAUNCHES
        return lacks or self._batch_seconds < self._budget.left

    def _end(self, work: RemainingWork, *, is_stored: bool) -> Ended:
        is_open = any(map(work.cases, work.groups))
        by: Literal["launches", "budget", "look"] = "launches"
        if work.looks and not is_open:
            by = "look"
        elif is_open and (work.most_needed or self._is_spent or (not is_stored and work.ended == "budget")):
            by = "budget"
        ended = Ended(work.launches, by, work.looks, self._budget.spent, self._budget.sampling_seconds)
        if is_stored:
            times = {"seconds": ended.seconds, "sampling_seconds": ended.sampling_seconds}
            work.append("ended", ended.launches, by=by, looks=ended.looks, **times)
        return ended

    def _measure_batch(self) -> None:
        works, began = self._open(), self._budget.spent
        self._batches += 1
        with ExitStack() as stack:
            warming = Warming(works, self._budget, self._tell, stack)
            warm = warming.run()
            self._part_together(warm)
            if warm:
                preparing_seconds = self._budget.spent - began
                self._reserve(works, warm)
                sweeps = Sweeps(warm, self._budget, warming.limited_by, self._tell, self._contrasts)
                sweeps.measure_limits()
                sweeps.first()
                self._batch_seconds = self._budget.spent - began
                self._go_on(sweeps, preparing_seconds, stack)
                self._rounds += _rounds(sweeps)
                self._earlier.append(sweeps.made)
                self._contrasts.end_batch()
        self._budget.reserve = 0.0
        for launch in warming.launches:
            self._measure_apart(launch)

    def _part_together(self, launches: Sequence[WarmLaunch]) -> None:
        """Have what goes apart in one run do so in all: only what is sampled in the same sweeps can be compared."""
        apart = set().union(*(work.apart for work in self._works))
        for work in self._works:
            work.apart |= apart & set(work.planned)
        for launch in launches:
            launch.prepared = [group for group in launch.prepared if group not in apart]

    def _reserve(self, works: Sequence[RemainingWork], launches: Sequence[WarmLaunch]) -> None:
        """Keep the time for what these workers cannot do: the second launch, and groups that go apart."""
        numbers = {launch.launch for launch in launches}
        apart = sum(len(work.apart) for work in works) * len(numbers) * START_SECONDS
        lacks = min(work.launches for work in works) + len(numbers) < LEAST_LAUNCHES
        half = self._budget.left / 2 if lacks and not math.isinf(self._budget.left) else 0.0
        self._budget.reserve = apart + half

    def _go_on(self, sweeps: Sweeps, preparing_seconds: float, stack: ExitStack) -> None:
        """Sample until nothing is open, there is no time, or other launches would tell more than these."""
        while True:
            self._replace(sweeps, stack)
            rounds = self._rounds + _rounds(sweeps)
            if not self._can_go_on(sweeps):
                return
            is_early = self._is_too_early()
            if self._times.is_due(rounds) and not is_early:
                self._look(sweeps)
                self._times.note(rounds, rounds + self._budget.affordable(rounds))
            if not sweeps.launches or self._is_another_launch_better(sweeps, preparing_seconds):
                return
            if not sweeps.next(SWEEP_ROUNDS if is_early else self._times.until(rounds, len(sweeps.launches))):
                self._is_spent = any(launch.open_groups() for launch in sweeps.launches)
                return

    def _can_go_on(self, sweeps: Sweeps) -> bool:
        """Whether anything can still be sampled, by these launches or others: else a look would decide nothing."""
        works = works_of(sweeps.launches)
        return any(launch.open_groups() for launch in sweeps.launches) or any(work.most_needed for work in works)

    def _is_too_early(self) -> bool:
        """Whether a look would be wasted: launches tell too little as yet, and there is time for more of them."""
        if self._shows_usual_spread() or any(work.checkout is None for work in self._works):
            return False
        has_few = min(work.launches for work in self._works) < LEAST_FOR_LOOK
        return has_few and bool(self._open()) and self._batch_seconds < self._budget.left

    def _shows_usual_spread(self) -> bool:
        """Whether cases are enough to show how much launches usually differ, however few of these there are."""
        return any(len(work.unfailed()) >= LEAST_COMPARISONS for work in self._works)

    def _look(self, sweeps: Sweeps) -> None:
        """Look at the data of each run, where that may change what comes and there is time for it."""
        if self._look_together is not None:
            self._look_at_all(self._look_together)
            return
        for work in works_of(sweeps.launches):
            is_wanted = not work.settings.evenly and work.looks < WITHIN_RUN and work.launches >= LEAST_LAUNCHES
            if is_wanted and self._budget.look_seconds < LOOK_SHARE * self._budget.left:
                with self._budget.looking():
                    work.narrow(self._looks[id(work)])

    def _look_at_all(self, look: LookTogether) -> None:
        """Look at all runs at once: what is open between two of them is measured on in both."""
        is_wanted = all(
            not work.settings.evenly and work.looks < WITHIN_RUN and work.launches >= LEAST_LAUNCHES
            for work in self._works
            if work.unfailed()
        )
        if is_wanted and self._budget.look_seconds < LOOK_SHARE * self._budget.left:
            with self._budget.looking():
                found = look(min(work.launches for work in self._works))
                for work in self._works:
                    work.narrow_to(found[work.folder])

    def _is_another_launch_better(self, sweeps: Sweeps, preparing_seconds: float) -> bool:
        """Whether other launches than these would narrow the intervals of what is open more, in the time left."""
        needed = max((work.most_needed for work in works_of(sweeps.launches)), default=0)
        found, made, costs = sweeps.variances(), sweeps.made, sweeps.costs(preparing_seconds)
        if not needed or self._batch_seconds >= self._budget.left:
            return False
        if found is None or found.within == 0:
            return made.rounds >= allocation.LEAST_ROUNDS and self._is_enough_unknown(made, costs)
        known = MOST_DEGREES if self._shows_usual_spread() else 0.0
        batches = [*self._earlier, made]
        left = allocation.Left(self._budget.left, needed)
        return allocation.better(found, costs, batches, left, known) == "launch"

    def _is_enough_unknown(self, made: allocation.Made, costs: allocation.Costs) -> bool:
        """Whether others are to begin although nothing shows how far launches differ: for a look, or to show that."""
        is_alone = len(self._works) > 1 and sum(one.launches for one in [*self._earlier, made]) == 1
        return self._is_too_early() or (is_alone and made.rounds * costs.round_seconds >= costs.launch_seconds)

    def _replace(self, sweeps: Sweeps, stack: ExitStack) -> None:
        """Prepare a new launch for each that was lost, while all others sleep, where that is worth its time."""
        while sweeps.lost:
            lost = sweeps.lost.pop()
            groups = [group for group in lost.work.groups if lost.work.needs(group)]
            beside = [one for one in sweeps.launches if one.work is lost.work]
            if not groups or not self._is_worth_replacing(lost, len(beside)):
                continue
            number = 1 + max([lost.launch, *(one.launch for one in sweeps.launches)])
            fresh = WarmLaunch(lost.work, max(number, lost.work.next_launch), groups)
            stack.callback(fresh.close)
            fresh.warm_up()
            if not fresh.is_lost:
                fresh.measure_limits()
                sweeps.launches.append(fresh)

    def _is_worth_replacing(self, lost: WarmLaunch, beside: int) -> bool:
        if beside < LEAST_LAUNCHES:
            return True
        has_room = memory.has_room(1, lost.worker_bytes or memory.ASSUMED_BYTES, [])
        return has_room and self._budget.left >= 2 * lost.seconds

    def _measure_apart(self, launch: WarmLaunch) -> None:
        """Measure each group that does not go with others by a process of its own, which counts to the launch."""
        work = launch.work
        for group in sorted(work.apart):
            if launch.launch in work.sampled[group] or not work.needs(group):
                continue
            alone = WarmLaunch(work, launch.launch, [group], is_apart=True)
            try:
                alone.warm_up()
                if not alone.is_lost:
                    with self._budget.sampling():
                        alone.sample(group, work.settings.rounds)
            finally:
                alone.close()


def _rounds(sweeps: Sweeps) -> float:
    """Return how many rounds all launches together have made, of what they have made most of."""
    return sum(max(one.rounds.values(), default=0) for one in sweeps.launches)

"""Warm workers take turns: sweep by sweep over all that is open, one worker at a time, until the time is used."""

from __future__ import annotations

import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from pyopbench.engine.budget import Budget, LimitedBy, Progress, Tell
from pyopbench.engine.contrasts import Contrasts
from pyopbench.engine.remaining_work import RemainingWork
from pyopbench.engine.warm_launch import WarmLaunch, runner_key, runner_seconds
from pyopbench.model.case import Case
from pyopbench.stats import allocation

SWEEP_ROUNDS = 10
"""Rounds of a group before the next one's turn, at the most: so launches are interleaved in time."""
COMPARISON_SWEEP_ROUNDS = 4
"""The same where versions are compared. A core of a shared machine is fast or slow for some tenths of a second, which
two processes share only if they take turns as quickly: in the same time, turns of 20 rounds had twice the error."""
LEAST_ROUNDS = 2
"""Rounds for which it is worth to wake a worker."""


class Sweeps:
    """Samples with warm workers.

    Attributes:
        launches: that take turns; those that are lost are taken out.
        lost: those.
    """

    def __init__(
        self, launches: Sequence[WarmLaunch], budget: Budget, limited_by: LimitedBy, tell: Tell, contrasts: Contrasts
    ) -> None:
        """Begin with workers that have prepared everything.

        Args:
            launches: their launches.
            budget: the time that there is.
            limited_by: why there are no more.
            tell: is told of every group before it is sampled.
            contrasts: of earlier launches; those of these are added.
        """
        self.launches = list(launches)
        self.lost: list[WarmLaunch] = []
        self._budget, self._limited_by, self._tell = budget, limited_by, tell
        self._rng = random.Random(f"{launches[0].work.settings.seed}/{launches[0].launch}/turns")
        self._sweep = 0
        self._contrasts = contrasts

    @property
    def rounds(self) -> int:
        """How many rounds a group that is open has at the most, in the launch that has fewest."""
        return min(
            (max((one.rounds.get(group, 0) for group in one.prepared), default=0) for one in self.launches), default=0
        )

    def measure_limits(self) -> None:
        """Have each worker measure what the machine can do at most."""
        for launch in self.launches:
            launch.measure_limits()
        self._drop_lost()

    def first(self) -> None:
        """Sample everything for a few rounds, whatever time is left."""
        self._over(self._turns(), lambda launch, group: launch.work.settings.first_rounds)

    def next(self, most: int) -> bool:
        """Sample what is open for some rounds, at most so many, as far as there is time; was there any?"""
        turns = self._turns()
        needed = sum(self._round_seconds(one, group) for group, several in turns.items() for one in several)
        requests = sum(map(len, turns.values())) * self._budget.request_seconds
        affordable = (self._budget.left - requests) / needed if needed else math.inf
        usual = COMPARISON_SWEEP_ROUNDS if self._contrasts.are_by_sweep else SWEEP_ROUNDS
        rounds = int(max(min(affordable, most, usual), LEAST_ROUNDS))
        return self._over(turns, lambda launch, group: self._rounds_of(launch, group, rounds))

    @property
    def made(self) -> allocation.Made:
        """How many launches there are, and how many rounds each has; blocks and sweeps where versions are compared."""
        if self._contrasts.are_by_sweep:
            blocks = Counter(one.launch for one in self.launches)
            return allocation.Made(max(sum(many > 1 for many in blocks.values()), 1), max(self._sweep, 1))
        return allocation.Made(len(self.launches), max(self.rounds, 1))

    def costs(self, preparing_seconds: float) -> allocation.Costs:
        """Return what a launch and a round of one cost over all that is open, as `made` counts them; there is a launch.

        Args:
            preparing_seconds: what it took to prepare these launches.
        """
        many = self.made.launches
        if self._contrasts.are_by_sweep:
            sweep = sum(self._turn_seconds(one, group) for one in self.launches for group in one.open_groups())
            return allocation.Costs(preparing_seconds / many, sweep / many)
        several = [sum(self._round_seconds(one, group) for group in one.open_groups()) for one in self.launches]
        return allocation.Costs(preparing_seconds / many, statistics.fmean(several))

    def variances(self) -> allocation.Variances | None:
        """Return how far launches and rounds differ, as `made` counts them, of the cases that are open, in logs."""
        return self._contrasts.variances()

    def _turns(self) -> dict[str, list[WarmLaunch]]:
        """Return the groups that are open in random order, each with the launches that sample it, in random order."""
        turns: dict[str, list[WarmLaunch]] = {}
        for launch in self.launches:
            for group in launch.open_groups():
                turns.setdefault(group, []).append(launch)
        groups = sorted(turns)
        self._rng.shuffle(groups)
        return {group: self._in_blocks(turns[group]) for group in groups}

    def _in_blocks(self, launches: Sequence[WarmLaunch]) -> list[WarmLaunch]:
        """Return launches in random order, those of one number, which are compared, right after one another."""
        blocks: dict[int, list[WarmLaunch]] = {}
        for launch in self._rng.sample(launches, len(launches)):
            blocks.setdefault(launch.launch, []).append(launch)
        return [launch for block in blocks.values() for launch in block]

    def _over(self, turns: Mapping[str, list[WarmLaunch]], rounds_of: Callable[[WarmLaunch, str], int]) -> bool:
        """Sample group by group, each by all its launches or none; was there time for any?"""
        is_first, any_made = self._sweep == 0, False
        for place, (group, several) in enumerate(turns.items()):
            wanted = [(one, rounds_of(one, group)) for one in several if not one.is_lost]
            needed = sum(
                self._budget.request_seconds + rounds * self._round_seconds(one, group) for one, rounds in wanted
            )
            if not is_first and needed > self._budget.left:
                continue
            for launch, rounds in wanted:
                self._show(launch, group, place, len(turns))
                any_made = self._sample(launch, group, rounds) or any_made
        self._sweep += 1
        self._drop_lost()
        return any_made

    def _sample(self, launch: WarmLaunch, group: str, rounds: int) -> bool:
        if not launch.work.cases(group):
            return False
        began = time.monotonic()
        with self._budget.sampling():
            content = launch.sample(group, rounds, self._sweep)
        if content is None:
            return False
        seconds = runner_seconds(content)
        made = len({row[0] for rows in content["samples"].values() for row in rows})
        self._budget.round_seconds.update(seconds)
        self._budget.note_request(time.monotonic() - began, made * sum(seconds.values()))
        self._contrasts.keep(launch, self._sweep, content)
        return made > 0

    def _rounds_of(self, launch: WarmLaunch, group: str, rounds: int) -> int:
        """Return how many rounds a group gets in a sweep: slow ones fewer, none more than its launch may have."""
        settings, seconds = launch.work.settings, self._round_seconds(launch, group)
        affordable = max(int(settings.group_seconds / seconds), LEAST_ROUNDS) if seconds else rounds
        return min(rounds, affordable, settings.rounds - launch.rounds.get(group, 0))

    def _turn_seconds(self, launch: WarmLaunch, group: str) -> float:
        rounds = self._rounds_of(launch, group, COMPARISON_SWEEP_ROUNDS)
        return self._budget.request_seconds + rounds * self._round_seconds(launch, group)

    def _round_seconds(self, launch: WarmLaunch, group: str) -> float:
        runners = {runner_key(Case.from_id(case)) for case in launch.work.cases(group)}
        return sum(self._budget.round_seconds.get(runner, 0.0) for runner in runners)

    def _drop_lost(self) -> None:
        self.lost += [one for one in self.launches if one.is_lost]
        self.launches = [one for one in self.launches if not one.is_lost]

    def _show(self, launch: WarmLaunch, group: str, done: int, total: int) -> None:
        self._tell(
            Progress(
                doing="sampling",
                workers=len(self.launches),
                limited_by=self._limited_by,
                launches=launch.work.launches,
                sweep=self._sweep,
                group=group,
                done=done,
                total=total,
                planned=len({name for one in self.launches for name in one.work.planned}),  # a control has fewer
                seconds_left=None if self._budget.seconds is None else max(self._budget.left, 0.0),
            )
        )


def works_of(launches: Sequence[WarmLaunch]) -> Iterator[RemainingWork]:
    """Yield each run whose launches these are, once."""
    yield from {id(one.work): one.work for one in launches}.values()

"""Warm workers take turns: sweep by sweep over all that is open, one worker at a time, until the time is used.

What they sample shows how far launches and rounds differ in what is compared: variants within a process, or sides
between processes. Within a process, what slows everything down cancels, so a contrast is the log of a case's time minus
the median log of all cases in that round. Between processes it does not cancel, so a contrast is the log of a case's
time on one side minus that on the first side, in the same sweep. A sweep is then what a round is elsewhere: its rounds
share the state that the core happens to be in, and say hardly more than one of them.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from pyopbench.engine.budget import Budget, LimitedBy, Progress, Tell
from pyopbench.engine.launch import WarmLaunch, runner_key, runner_seconds
from pyopbench.engine.remaining_work import RemainingWork
from pyopbench.model.case import Case, place_and_rest
from pyopbench.stats import allocation
from pyopbench.store.line_types import GroupLine

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
            blocks = Counter((one.launch, one.placement) for one in self.launches)
            compared = {launch for (launch, _), many in blocks.items() if many > 1}
            return allocation.Made(max(len(compared), 1), max(self._sweep, 1))
        return allocation.Made(len({one.launch for one in self.launches}), max(self.rounds, 1))

    def costs(self, preparing_seconds: float) -> allocation.Costs:
        """Return what a launch and a round of one cost over all that is open, as `made` counts them; there is a launch.

        Args:
            preparing_seconds: what it took to prepare these launches.
        """
        many = self.made.launches
        if self._contrasts.are_by_sweep:
            sweep = sum(self._turn_seconds(one, group) for one in self.launches for group in one.open_groups())
            return allocation.Costs(preparing_seconds / many, sweep / many)
        rounds = sum(self._round_seconds(one, group) for one in self.launches for group in one.open_groups())
        return allocation.Costs(preparing_seconds / many, rounds / many)

    def variances(self) -> allocation.Variances | None:
        """Return how far launches and rounds differ, as `made` counts them, of the cases that are open, in logs."""
        return self._contrasts.variances()

    def _turns(self) -> dict[str, list[WarmLaunch]]:
        """Return the groups that are open in random order, each with the launches that sample it, in random order.

        Groups that differ only in their placement follow one another, so that drift affects both alike.
        """
        turns: dict[str, list[WarmLaunch]] = {}
        for launch in self.launches:
            for group in launch.open_groups():
                turns.setdefault(group, []).append(launch)
        neighbours: dict[str, list[str]] = {}
        for group in sorted(turns):
            neighbours.setdefault(place_and_rest(group)[1], []).append(group)
        rests = sorted(neighbours)
        self._rng.shuffle(rests)
        groups = [group for rest in rests for group in self._rng.sample(neighbours[rest], len(neighbours[rest]))]
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
            line = launch.sample(group, rounds, self._sweep)
        if line is None:
            return False
        seconds = runner_seconds(line)
        made = len({row[0] for rows in line.samples.values() for row in rows})
        self._budget.round_seconds.update(seconds)
        self._budget.note_request(time.monotonic() - began, made * sum(seconds.values()))
        self._contrasts.keep(launch, self._sweep, line)
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


LEAST_SWEEPS = 4
"""Of a pair of launches that is counted with; what sweeps of few rounds differ by is mostly noise."""

ROW_WITH_COPIES = 5
"""Numbers of a sample in mode node: round, order, calls, seconds, copies."""

Values: TypeAlias = dict[str, dict[int, dict[int, float]]]
"""Case -> launch -> round or sweep -> log."""


class Contrasts:
    """The contrasts of all launches of a run so far, or of several that are measured together.

    Attributes:
        are_by_sweep: are versions compared? Contrasts are then of sweeps, and otherwise of rounds.
    """

    def __init__(self, works: Sequence[RemainingWork]) -> None:
        """Begin without any.

        Args:
            works: of the runs that are measured together; others are compared with the first.
        """
        self.are_by_sweep = len(works) > 1
        self._works = works
        self._values: dict[int, Values] = {id(work): {} for work in works}
        self._earlier: dict[int, dict[str, list[allocation.LaunchSummary]]] = {id(work): {} for work in works}

    def keep(self, launch: WarmLaunch, sweep: int, line: GroupLine) -> None:
        """Keep what a sweep has sampled of a group."""
        floors = _floors(row for rows in line.samples.values() for row in rows)
        logs = {key: _logs(rows, floors) for key, rows in line.samples.items()}
        if self.are_by_sweep:
            kept = {key: {sweep: statistics.median(found.values())} for key, found in logs.items() if found}
        else:
            kept = _less_others(logs)
        for key, found in kept.items():
            self._values[id(launch.work)].setdefault(key, {}).setdefault(launch.launch, {}).update(found)

    def end_batch(self) -> None:
        """Replace the values of the batch by a summary of each launch: a run has millions of values."""
        self._earlier = {id(work): dict(self._summaries(work)) for work in self._works}
        self._values = {id(work): {} for work in self._works}

    def variances(self) -> allocation.Variances | None:
        """Return how far launches and rounds (or sweeps) differ, of the cases that are open, in logs."""
        return allocation.variances([launches for work in self._works for _, launches in self._summaries(work)])

    def _summaries(self, work: RemainingWork) -> Iterator[tuple[str, list[allocation.LaunchSummary]]]:
        """Yield each open case with the summaries of its launches, those of earlier batches included."""
        for case in (case for group in work.groups for case in work.cases(group)):
            of_batch = [allocation.LaunchSummary.of(values) for values in self._launches(work, case)]
            yield case, self._earlier[id(work)].get(case, []) + of_batch

    def _launches(self, work: RemainingWork, case: str) -> Iterator[Sequence[float]]:
        """Yield the contrasts of a case in each launch of the batch that has enough of them."""
        values, first = self._values[id(work)], self._values[id(self._works[0])]
        if self.are_by_sweep:
            found = values.get(case, {}).items() if work is not self._works[0] else ()
            pairs = (_difference(logs, first.get(case, {}).get(launch, {})) for launch, logs in found)
            yield from (pair for pair in pairs if len(pair) >= LEAST_SWEEPS)
        else:
            yield from (list(logs.values()) for logs in values.get(case, {}).values() if len(logs) > 1)


def _difference(values: Mapping[int, float], first: Mapping[int, float]) -> list[float]:
    return [value - first[number] for number, value in values.items() if number in first]


def _less_others(logs: Mapping[str, Mapping[int, float]]) -> dict[str, dict[int, float]]:
    """Return the logs less those of all cases of the group in the round: as verdicts, paired."""
    rounds = {number for found in logs.values() for number in found}
    middle = {
        number: statistics.median(found[number] for found in logs.values() if number in found) for number in rounds
    }
    return {key: {number: value - middle[number] for number, value in found.items()} for key, found in logs.items()}


def _floors(rows: Iterable[Sequence[float]]) -> dict[int, float]:
    """Return the seconds of a call of the empty function, the graph of no copies, in each round that has one."""
    empty = [row for row in rows if len(row) == ROW_WITH_COPIES and row[-1] == 0]
    return {int(number): seconds / calls for number, _, calls, seconds, _ in empty}


def _logs(rows: Sequence[Sequence[float]], floors: Mapping[int, float]) -> dict[int, float]:
    """Return the log of what an op costs in each round, as `stats.costs`; without rounds in which it costs nothing.

    In mode node that is of the graph of one copy where there is one, as of callbacks, and else of the one of the most,
    less the empty function and over its copies: each process finds out for itself how many copies are enough.
    """
    costs: dict[int, tuple[float, float]] = {}
    for number, _, calls, seconds, *copies in rows:
        many = copies[0] if copies else 1
        rank = math.inf if many == 1 else many
        if seconds > 0 and many and rank >= costs.get(int(number), (-1.0, 0.0))[0]:
            costs[int(number)] = rank, (seconds / calls - floors.get(int(number), 0.0)) / many
    return {number: math.log(cost) for number, (_, cost) in costs.items() if cost > 0}

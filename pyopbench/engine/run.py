"""The run loop: batches of warm workers take turns until every case is settled or the budget is spent.

A batch is as many launches as fit; each has a worker for every side and placement, whose rows are compared. Workers
prepare in parallel, then sample one at a time, in sweeps over all open groups. A batch samples at least about three
times as long as a worker took to prepare; another one follows while it fits, because processes differ more than the
rounds of one, and has as many rounds as the first.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from typing import Any, Literal, TypeAlias, TypeVar

from pyopbench.engine import environments, sides, verify
from pyopbench.engine.launch import Launch, RemainingWork
from pyopbench.engine.worker_process import Worker
from pyopbench.judge import judge
from pyopbench.judge.comparison import gate
from pyopbench.model import formatting, machine
from pyopbench.model.case import Case, by_placement
from pyopbench.model.machine import usable_cores
from pyopbench.store.run import OpenRun
from pyopbench.store.types import EndedLine, GroupLine, LookLine

LEAST_LAUNCHES = 2
"""With fewer there is no interval, so that many are sampled once whatever the budget."""
MOST_WORKERS = 3
"""Most launches in a batch: in the same time three give nearly the same error as two, and twice the information on
how much launches differ (two degrees of freedom and one)."""
LEAST_SAMPLING = 0.6
"""Share of the time left before preparing that a third launch has to leave for sampling. With less it costs more rounds
than it is worth: docs/decisions/0011-warm-workers.md."""
SAMPLING_PER_PREPARING = 3.0
"""A batch samples this many times as long as a worker took to prepare, before another batch that fits."""
SWEEP_ROUNDS, COMPARISON_SWEEP_ROUNDS, LEAST_ROUNDS = 10, 4, 2
"""Rounds of a group before the next one's turn: at the most, where sides are compared, and at least. A core of a shared
machine is fast or slow for some tenths of a second, which two processes share only if they take turns as quickly: in
the same time, turns of 20 rounds had twice the error."""
ANALYSIS_GROWTH = 4.0
"""By how much the rounds of all launches together grow from one interim analysis to the next: with less, one would
learn little."""
LEAST_FOR_COMPARISON = 4
"""Launches before an interim analysis of sides: with three, next to nothing is clear enough to stop for."""
MOST_INTERIM_ANALYSES = 4
"""Each is one more chance to be wrong, if a small one."""
LEAST_FITTING = 0.75
"""Share of another batch like the last that has to fit into the time left: how long one takes is known no better."""
SILENT_SECONDS = 1.0
"""Interval between checks for workers that have been silent for too long."""


@dataclass(frozen=True)
class Busy:
    """Something takes a while."""

    doing: str


@dataclass(frozen=True)
class Progress:
    """A group is about to be prepared or sampled."""

    doing: Literal["preparing", "sampling"]
    workers: int  # that are preparing, or take turns
    sweep: int  # over all open groups, from 0
    group: str
    done: int  # of `total` groups of this worker, or of this sweep
    total: int
    planned: int  # groups of all sides
    seconds_left: float | None  # at the most; None where nothing limits the run


@dataclass(frozen=True)
class Analysed:
    """An interim analysis was made, with its results."""

    text: str


Event: TypeAlias = Busy | Progress | Analysed | EndedLine
"""The last is the end of the side that has fewest launches."""

T = TypeVar("T")

Analyse: TypeAlias = Callable[[int, int], tuple[Mapping[str, frozenset[str]], str]]
"""Called with the launches so far and the maximum; returns the open cases by the label of each side, and a sentence
on the result."""


def measure(
    run: OpenRun,
    judging: judge.Judging,
    *,
    analyse: Analyse | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Generator[Event, None, None]:
    """Measure the rest of a run; the measurements are stored, and kept in the run. Yield what happens.

    `judging` says how interim analyses judge, and what is required of ports; tests pass an analysis and a clock.

    Raises:
        BadInput: another process measures into the folder, or the environment differs from when the run began.
        WorkerLost: a worker could not be started; what was measured before is stored.
    """
    with sides.checkouts_of(run) as checkouts, run.locked():
        yield Busy("starting")  # a version of TensorFlow that is gone from the cache is installed again
        workers: list[dict[str, Any]] = [
            {
                "python": environments.python_of(measured.side.asked),
                "checkout": checkouts.get(measured.side.label),
                "own": run.own,
            }
            for measured in run.measured
        ]
        if judging.requires:
            yield Busy("trying requirements")
            for measured, worker in zip(run.measured, workers, strict=True):
                start = partial(Worker, verify.REQUIREMENT_SECONDS, hides_gpu=True, **worker)
                verify.try_missing(measured, judging.requires, start)
        works = [RemainingWork(measured, worker) for measured, worker in zip(run.measured, workers, strict=True)]
        yield from _Loop(works, analyse or partial(judge_open, run, judging), clock).run()


class _Loop:
    """The state of a run while it is measured."""

    def __init__(self, works: Sequence[RemainingWork], analyse: Analyse, now: Callable[[], float]) -> None:
        self._works, self._judge_open, self._now, self._began = works, analyse, now, now()
        self._settings = works[0].settings
        self._sampling_seconds = 0.0
        # Of the last batch, of its slowest worker, and of another one like it, as its last sweep was.
        self._preparing_seconds = self._launch_seconds = self._again_seconds = 0.0
        # Rounds of a launch of the first batch that another one followed: no later launch makes more.
        self._equal_rounds = math.inf
        self._next_analysis = ANALYSIS_GROWTH * sum(work.rounds for work in works) if works[0].looks else 0.0
        self._round_seconds: dict[tuple[int, str], float] = {}
        self._is_spent = False

    def run(self) -> Iterator[Event]:
        """Measure batch after batch until nothing is open, or no launch or no time is left."""
        began_open = self._open_works()
        while self._open_works() and self._may_begin():
            with ExitStack() as workers:
                batch = yield from self._prepare_batch(workers)
                if batch:
                    yield from self._sample_batch(batch)
        for work in self._works:
            if work in began_open or work.ended is None:
                work.ended = self._end(work)
                work.append(work.ended)
        ends = [work.ended for work in self._works if work.ended and (work.launches or work.most_needed)]
        yield min(ends, key=lambda ended: ended.launch, default=self._end(self._works[0]))

    @property
    def _spent(self) -> float:
        return self._now() - self._began

    @property
    def _left(self) -> float:
        budget = self._settings.budget_seconds
        return math.inf if budget is None else budget - self._spent

    def _open_works(self) -> list[RemainingWork]:
        return [work for work in self._works if work.most_needed]

    def _launches(self) -> int:
        """Return the fewest launches of any side that can still be measured."""
        return min((len(work.launches) for work in self._works if work.launches or work.most_needed), default=0)

    def _may_begin(self) -> bool:
        """Whether most of another batch fits, or there are too few launches for an interval."""
        has_few = min(len(work.launches) for work in self._open_works()) < LEAST_LAUNCHES
        return has_few or self._left > LEAST_FITTING * self._again_seconds

    def _end(self, work: RemainingWork) -> EndedLine:
        is_open = any(map(work.cases, work.open))
        by: Literal["launches", "budget", "look"] = "launches"
        if is_open and (work.most_needed or self._is_spent):
            by = "budget"
        elif work.looks and not is_open:
            by = "look"
        seconds, sampling, launches = self._spent, self._sampling_seconds, len(work.launches)
        return EndedLine(launch=launches, by=by, looks=work.looks, seconds=seconds, sampling_seconds=sampling)

    # Preparing: side by side, at most one worker a core.

    def _prepare_batch(self, workers: ExitStack) -> Generator[Event, None, list[Launch]]:
        """Start workers, and return those that are warm."""
        began, left = self._spent, self._left
        waiting = self._plan_batch()
        active, batch = list[Launch](), list[Launch]()
        while active or waiting:
            while waiting and len(active) < len(usable_cores()) and self._may_join(waiting, batch, began, left):
                launch = waiting.pop(0)
                workers.callback(launch.close)
                launch.begin()
                active.append(launch)
                batch.append(launch)
            if waiting and not active:
                break  # for more there is no room or no time
            wait([launch.fileno() for launch in active if not launch.is_lost], SILENT_SECONDS)
            for launch in list(active):
                todo = len(launch.todo)
                if launch.go_on():
                    active.remove(launch)
                elif launch.todo and len(launch.todo) != todo:
                    yield self._progress(len(active), launch.todo[0], len(launch.prepared), todo)
        warm = [launch for launch in batch if not launch.is_lost]
        self._preparing_seconds = self._again_seconds = self._spent - began
        self._launch_seconds = max((launch.seconds or 0.0 for launch in warm), default=0.0)
        return warm

    def _plan_batch(self) -> list[Launch]:
        """Return the launches of a batch by number. A group that needs one on any side gets it on all sides."""
        first = 1 + max((number for work in self._works for number in work.launches), default=-1)
        # Of pipelines, the first launch alone shows which arrangements are far from the best.
        most = 1 if any(work.is_in_pipeline and not work.launches for work in self._works) else MOST_WORKERS
        planned = list[Launch]()
        for row in range(min(most, max(work.most_needed for work in self._works))):
            needed = {group for work in self._works for group in work.open if work.needs(group) > row}
            for work in self._works:
                groups = by_placement(group for group in work.open if group in needed and work.cases(group))
                planned += [Launch(work, first + row, here, self._now) for here in groups.values()]
        return planned

    def _may_join(self, waiting: Sequence[Launch], batch: Sequence[Launch], began: float, left: float) -> bool:
        """Whether the next launch may start: it completes a number that has started, or there is room and time."""
        number = waiting[0].number
        if not batch or batch[-1].number == number:
            return True
        partners = sum(launch.number == number for launch in waiting)
        # Those that are preparing have not taken their memory yet.
        preparing = sum(launch.seconds is None and not launch.is_lost for launch in batch)
        if partners + preparing > machine.room_for_workers():
            return False
        if len({launch.number for launch in batch}) + self._launches() < LEAST_LAUNCHES:
            return True
        known = [launch.seconds for launch in batch if launch.seconds is not None]
        expected = math.ceil(partners / len(usable_cores())) * max(known, default=self._launch_seconds)
        return self._spent - began + expected <= (1 - LEAST_SAMPLING) * left

    # Sampling: one worker at a time, while all others sleep.

    def _sample_batch(self, batch: list[Launch]) -> Iterator[Event]:
        """Sample sweep by sweep until nothing is open, there is no time, or it is the next batch's turn.

        The first batch leaves as much time to each of those that still fit as it takes itself. They make no more
        rounds than it, even if time is left then: processes differ more than the rounds of one, and count alike.
        """
        further = self._further_batches(batch)
        rng = random.Random(f"{self._settings.seed}/{batch[0].number}/turns")
        for sweep in itertools.count():
            began, rounds = self._spent, _rounds_of(batch)
            yield from self._sweep(batch, sweep, rng)
            seconds = self._spent - began
            is_whole = not any(launch.is_lost for launch in batch)
            batch[:] = [launch for launch in batch if not launch.is_lost]
            if self._is_spent or not (any(launch.open_groups() for launch in batch) or self._open_works()):
                break
            turns = sum(len(launch.open_groups()) for launch in batch)
            if self._is_analysis_due():
                yield self._analyse()
            open_turns = sum(len(launch.open_groups()) for launch in batch)
            if not open_turns:
                break
            made = _rounds_of(batch)
            if is_whole:  # the time and the rounds of a worker that was lost say nothing of another batch
                sampling = made * seconds / max(made - rounds, 1.0) * open_turns / turns
                self._again_seconds = self._preparing_seconds + sampling
            if made >= self._equal_rounds * len(batch):
                break
            if math.isinf(self._equal_rounds) and self._open_works() and self._left <= further * self._again_seconds:
                # In a pipeline the first launch has every arrangement, and later ones those that are worth more rounds.
                if not self._works[0].is_in_pipeline:
                    self._equal_rounds = made / len(batch)
                break

    def _further_batches(self, batch: Sequence[Launch]) -> int:
        """Return how many batches are to follow: as many as fit if each samples three times as long as it prepares."""
        left, sampling = self._left, SAMPLING_PER_PREPARING * self._launch_seconds
        numbers = {launch.number for launch in batch}
        wanted = math.ceil((max(work.most_needed for work in self._works) - len(numbers)) / MOST_WORKERS)
        if math.isinf(left) or wanted < 1:
            return 0
        whole = self._preparing_seconds + sampling
        fitting = int((left - sampling) / whole) if whole else 0
        least = 1 if len(numbers) + self._launches() < LEAST_LAUNCHES else 0
        return max(min(wanted, fitting), least)

    def _sweep(self, batch: Sequence[Launch], sweep: int, rng: random.Random) -> Iterator[Event]:
        """Let all launches sample a group before the next one's turn; each group by all of them, or by none."""
        turns = _turns(batch, rng)
        rounds = self._sweep_rounds(turns)
        is_any, is_late = sweep == 0, False
        for place, (group, launches) in enumerate(turns.items()):
            asked = {id(launch): self._rounds(launch, group, rounds, sweep) for launch in launches}
            needed = sum(asked[id(launch)] * self._seconds(launch, group) for launch in launches)
            if sweep and needed > self._left:
                is_late = True
                continue
            for launch in launches:
                if launch.is_lost or not launch.work.cases(group):
                    continue
                yield self._progress(len(batch), group, place, len(turns), sweep)
                began = self._spent
                line = launch.sample(group, asked[id(launch)], sweep)
                self._sampling_seconds += self._spent - began
                if line is not None and line.samples:
                    is_any = True
                    self._round_seconds[id(launch.work), group] = _seconds_of_round(line)
        self._is_spent = is_late and not is_any

    def _sweep_rounds(self, turns: Mapping[str, Sequence[Launch]]) -> int:
        """Return how many rounds of each group there is time for, as many as are usual at the most."""
        usual = COMPARISON_SWEEP_ROUNDS if len(self._works) > 1 else SWEEP_ROUNDS
        needed = sum(self._seconds(launch, group) for group, launches in turns.items() for launch in launches)
        affordable = self._left / needed if needed else math.inf
        return int(max(min(affordable, usual), LEAST_ROUNDS))

    def _rounds(self, launch: Launch, group: str, rounds: int, sweep: int) -> int:
        """Return how many rounds a group gets: slow ones fewer, none more than its launch may have."""
        settings, seconds = self._settings, self._seconds(launch, group)
        if sweep == 0:
            return settings.first_rounds
        affordable = max(int(settings.group_seconds / seconds), LEAST_ROUNDS) if seconds else rounds
        return min(rounds, affordable, settings.rounds - launch.rounds.get(group, 0))

    def _seconds(self, launch: Launch, group: str) -> float:
        return self._round_seconds.get((id(launch.work), group), 0.0)

    # Interim analyses.

    def _is_analysis_due(self) -> bool:
        work = self._works[0]
        least = 1 if work.is_in_pipeline else LEAST_LAUNCHES if len(self._works) == 1 else LEAST_FOR_COMPARISON
        if self._settings.until == "end" or work.looks >= MOST_INTERIM_ANALYSES or self._launches() < least:
            return False
        rounds = sum(work.rounds for work in self._works)
        if rounds < self._next_analysis or self._left < 1.0:  # an analysis takes about a second
            return False
        self._next_analysis = ANALYSIS_GROWTH * rounds
        return True

    def _analyse(self) -> Analysed:
        """Judge the measurements, and keep only the open cases."""
        launches = self._launches()
        most = max(max(self._settings.launches, len(work.launches) + work.most_needed) for work in self._works)
        open_cases, text = self._judge_open(launches, most)
        for work in self._works:
            work.append(LookLine(launch=len(work.launches), open=sorted(open_cases[work.side.side.label])))
        return Analysed(text)

    def _progress(self, workers: int, group: str, done: int, total: int, sweep: int | None = None) -> Progress:
        return Progress(
            doing="preparing" if sweep is None else "sampling",
            workers=workers,
            sweep=sweep or 0,
            group=group,
            done=done,
            total=total,
            planned=len({name for work in self._works for name in work.planned}),
            seconds_left=None if math.isinf(self._left) else max(self._left, 0.0),
        )


def judge_open(
    run: OpenRun, judging: judge.Judging, launches: int, most: int
) -> tuple[Mapping[str, frozenset[str]], str]:
    """Judge a run after `launches` of at most `most` launches; return the open cases of each side, and a sentence.

    Where sides are compared, that is what is open between them; of environments what is open on each as well.
    """
    if not run.has_several_sides:
        (side,) = run.measured
        alone = judge.interim_analysis(run, judging, launches, most)
        return {side.side.label: alone.open}, alone.text
    open_cases, progress = gate.interim_comparison(run, judging.minimum_effect)
    if not run.has_revisions:
        for side in run.measured:
            open_cases[side.side.label] |= judge.interim_analysis(run.alone(side), judging, launches, most).open
    return open_cases, f"after {formatting.count(launches, 'launch', 'launches')}, {progress}"


def _turns(batch: Sequence[Launch], rng: random.Random) -> dict[str, list[Launch]]:
    """Return the groups that are open in random order, each with the launches that sample it, in random order.

    Groups that differ only in their placement follow one another, so that drift affects both alike; so do launches of
    one number, which are compared.
    """
    open_: dict[str, list[Launch]] = {}
    for launch in batch:
        for group in launch.open_groups():
            open_.setdefault(group, []).append(launch)
    groups = _in_blocks(sorted(open_), lambda group: group.rpartition("/")[0], rng)
    return {group: _in_blocks(open_[group], lambda launch: launch.number, rng) for group in groups}


def _in_blocks(items: Sequence[T], block_of: Callable[[T], object], rng: random.Random) -> list[T]:
    """Return items in random order, with those of a block together."""
    ranks = {block: rng.random() for block in dict.fromkeys(map(block_of, items))}
    return sorted(items, key=lambda item: (ranks[block_of(item)], rng.random()))


def _rounds_of(batch: Sequence[Launch]) -> float:
    """Return how many rounds all launches together have made, of what they have made most of."""
    return sum(max(launch.rounds.values(), default=0) for launch in batch)


def _seconds_of_round(line: GroupLine) -> float:
    """Return the average time of a round: backward is within forward+backward."""
    runners: dict[str, float] = {}
    for key, rows in line.samples.items():
        rounds = len({row[0] for row in rows})
        seconds = sum(row[3] for row in rows) / rounds if rounds else 0.0
        runner = Case.from_id(key).runner
        runners[runner] = max(runners.get(runner, 0.0), seconds)
    return sum(runners.values())

"""Calibration and paired rounds. The clock is injected, so that tests run on a fake one.

Every round times one block of each runner, in a fresh random order that does not begin with the runner that the round
before has ended with: two blocks of one runner in a row would make the second faster than any other.
"""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

Clock: TypeAlias = Callable[[], float]
Segments: TypeAlias = Sequence[Callable[[], Any]]

TIMER_READINGS = 2001
"""Pairs of clock readings that the timer's cost is the median of; odd, so that the median is one of them."""

LARGEST_GROWTH = 10.0
"""Calibration multiplies the calls of a block by at most this, as asv does: short blocks are poor predictors."""

LARGEST_CALLS = 1_000_000

LARGEST_TIMER_SHARE = 1e-4
"""How much of a block reading the clock may take, before its cost is taken off (as in torch.utils.benchmark)."""

ALIKE = 2.0
"""Cases whose calls differ by less than this factor have blocks of as many calls."""

LEAST_ROUNDS = 4
"""Fewer have no median worth the name."""


@dataclass(frozen=True)
class Timer:
    """What it costs to read the clock twice in a row."""

    seconds: float  # the median; taken off every timed interval
    error_seconds: float  # half the distance between the quartiles; what is left after taking it off


@dataclass(frozen=True)
class Block:
    """`calls` calls timed in the `order`-th place of round `round`; seconds of each segment, timer cost taken off."""

    round: int
    order: int
    calls: int
    segment_seconds: tuple[float, ...]


@dataclass(frozen=True)
class Calibration:
    """How many calls make a block, and about how long it takes in all its segments."""

    calls: int
    seconds: float

    @property
    def call_seconds(self) -> float:
        """How long a call takes."""
        return self.seconds / self.calls


def measure_timer(clock: Clock) -> Timer:
    """Return what a pair of clock readings costs."""
    readings = []
    for _ in range(TIMER_READINGS):
        start = clock()
        readings.append(clock() - start)
    lower, middle, upper = statistics.quantiles(readings, n=4)
    return Timer(middle, (upper - lower) / 2)


@dataclass(frozen=True)
class Stretch:
    """How much longer a block is to last than it takes; for controls."""

    share: float = 0.0  # of what the block costs, by which it is longer (0.05 is 5%)
    empty_graph_seconds: float = 0.0  # in mode node, of as many calls of the empty graph: they are no cost


NO_STRETCH = Stretch()


def measure_block(
    segments: Segments, calls: int, clock: Clock, timer: Timer, stretch: Stretch = NO_STRETCH
) -> tuple[float, ...]:
    """Time `calls` calls in a row.

    One segment is stamped once around all calls. With two, every call is stamped before, between and after, because
    forward and backward must alternate.

    Args:
        segments: one, or forward and backward.
        calls: how often.
        clock: returns seconds.
        timer: what reading it costs.
        stretch: what is waited for each segment once all calls are done, and counts as its own. A wait after each call
            would be hidden in part, probably because TensorFlow's threads tidy up in it what the next call would else
            wait for: 5% of a call of 0.3 ms came out as 4.4% (2 cores).

    Returns:
        Seconds of each segment over all calls, less the cost of the clock.
    """
    seconds = _measure_segments(segments, calls, clock, timer)
    if not stretch.share:
        return seconds
    return tuple(one + _wait(stretch.share * max(one - stretch.empty_graph_seconds, 0.0), clock) for one in seconds)


def _wait(seconds: float, clock: Clock) -> float:
    start = now = clock()
    while now < start + seconds:
        now = clock()
    return now - start


def _measure_segments(segments: Segments, calls: int, clock: Clock, timer: Timer) -> tuple[float, ...]:
    if len(segments) == 1:
        return (max(_time_calls(segments[0], calls, clock) - timer.seconds, 0.0),)
    first, second = segments
    first_seconds = second_seconds = 0.0
    for _ in repeat(None, calls):
        start = clock()
        first()
        between = clock()
        second()
        end = clock()
        first_seconds += between - start
        second_seconds += end - between
    cost = calls * timer.seconds
    return max(first_seconds - cost, 0.0), max(second_seconds - cost, 0.0)


def _time_calls(call: Callable[[], Any], calls: int, clock: Clock) -> float:
    start = clock()
    for _ in repeat(None, calls):
        call()
    return clock() - start


def calibrate(segments: Segments, block_seconds: float, clock: Clock, timer: Timer) -> Calibration:
    """Find how many calls make a block long enough in its shortest segment.

    A block of one segment is long enough if it lasts `block_seconds` and the clock's cost is at most
    `LARGEST_TIMER_SHARE` of it. With two segments every call is stamped, and more calls would not dilute that.
    The first call is not counted: it may still warm something up.
    """
    wanted = block_seconds
    if len(segments) == 1:
        wanted = max(block_seconds, timer.seconds / LARGEST_TIMER_SHARE)
    measure_block(segments, 1, clock, timer)
    calls = 1
    while True:
        seconds = measure_block(segments, calls, clock, timer)
        if min(seconds) >= wanted or calls >= LARGEST_CALLS:
            return Calibration(calls, sum(seconds))
        growth = min(max(1.1 * wanted / max(min(seconds), 1e-9), 1.1), LARGEST_GROWTH)
        calls = min(math.ceil(calls * growth), LARGEST_CALLS)


def equal_calls(calibrations: Mapping[str, Calibration]) -> dict[str, Calibration]:
    """Give cases whose calls take about as long as many calls in a block: as many as any of them needs.

    The first call of a block, after another variant's, takes longer than the next ones. Where a launch had blocks of
    fewer calls for a case than for its twin, the same code came out 3% slower (0.3 ms a call, 22 launches, 2 cores); a
    call before the block that is not timed took most of that away too, but cost a third of the rounds or more. One
    step after the other, so that no border runs between two cases that are alike.
    """
    chains: list[list[str]] = []
    before = 0.0
    for name in sorted(calibrations, key=lambda one: calibrations[one].call_seconds):
        seconds = calibrations[name].call_seconds
        if seconds >= ALIKE * before:
            chains.append([])
        chains[-1].append(name)
        before = seconds
    calls = {name: max(calibrations[one].calls for one in chain) for chain in chains for name in chain}
    return {name: Calibration(calls[name], calls[name] * one.call_seconds) for name, one in calibrations.items()}


def same_calls(calibrations: Mapping[str, Calibration]) -> dict[str, Calibration]:
    """Give all cases blocks of as many calls as the one with the fewest has.

    Where costs are differences of cases to one of them, the empty graph, the first call of a block must weigh as much
    in all: it finds caches cold and threads asleep. Few calls and many rounds also say more (`rounds_within`).
    """
    fewest = min(one.calls for one in calibrations.values())
    return {name: Calibration(fewest, fewest * one.call_seconds) for name, one in calibrations.items()}


def rounds_within(round_seconds: float, group_seconds: float, most: int) -> int:
    """Return how many rounds to make of a group.

    Many rounds of short blocks tell more than few of long ones that take as long in all: what disturbs a machine
    comes in bursts, which then spoil one round and not the launch. Measured on 2 shared cores, the same 48 calls gave
    a launch's ratio to 3.1% in 4 rounds of 12 calls, 2.1% in 16 of 3, and 1.7% in 48 of one.

    Args:
        round_seconds: about how long a round takes.
        group_seconds: about how long all of them may take.
        most: how many are asked for at the most.

    Returns:
        At least `LEAST_ROUNDS` where `most` allows that.
    """
    affordable = int(group_seconds / round_seconds) if round_seconds > 0 else most
    return min(max(affordable, LEAST_ROUNDS), most)


def balanced_orders(count: int, rounds: int, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Yield for each round a random order of `count` runners, in which none follows itself from round to round.

    A block after one of the same runner was 4 to 10% faster than after another's (XLA 22%, 2 cores), as caches and
    threads are still its own; and what comes before has an effect of its own on what follows (2 to 4%), which only
    fresh orders average out. All runners are treated alike, so each is equally often in each place, before each
    other one, and right behind each other one, but for chance. Two runners may follow themselves, as often one as the
    other: else their order would never change, and a drift would fall on the second.

    Args:
        count: how many runners there are.
        rounds: how many orders to yield.
        rng: gives the random orders.
    """
    last = -1
    for _ in range(rounds):
        order = rng.permutation(count).tolist()
        if count > 2 and order[0] == last:
            place = int(rng.integers(1, count))
            order[0], order[place] = order[place], order[0]
        last = order[-1]
        yield tuple(order)


def sample_rounds(
    runners: Mapping[str, Segments],
    calls: Mapping[str, int],
    orders: Iterator[Sequence[int]],
    measure_one: Callable[[str, Segments, int], tuple[int, tuple[float, ...]]],
) -> dict[str, list[Block]]:
    """Time one block of each runner in each round.

    Args:
        runners: segments by name.
        calls: calls in a block, by name.
        orders: for each round the order of the runners, as positions in `runners`.
        measure_one: `(name, segments, calls) -> calls that were made, seconds of each segment`.

    Returns:
        The blocks by name, in the order of the rounds.
    """
    names = list(runners)
    blocks: dict[str, list[Block]] = {name: [] for name in names}
    for index, order in enumerate(orders):
        for place, position in enumerate(order):
            name = names[position]
            made, seconds = measure_one(name, runners[name], calls[name])
            blocks[name].append(Block(index, place, made, seconds))
    return blocks


@contextmanager
def quiet_garbage_collector() -> Iterator[None]:
    """Keep Python's garbage collector out of what is timed."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

"""Calibration and paired rounds. The clock is injected, so that tests run on a fake one.

Every round times one block of each runner, in an order that is random and balanced: each random order is followed by
its reverse, so that over two rounds every pair of runners stands equally often in either order and a linear drift
cancels.
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


@dataclass(frozen=True)
class Timer:
    """What it costs to read the clock twice in a row.

    Attributes:
        seconds: the median; taken off every timed interval.
        error_seconds: half the distance between the quartiles; what is left after taking it off.
    """

    seconds: float
    error_seconds: float


@dataclass(frozen=True)
class Block:
    """`calls` calls timed in the `order`-th place of round `round`; seconds of each segment, timer cost taken off."""

    round: int
    order: int
    calls: int
    segment_seconds: tuple[float, ...]


def measure_timer(clock: Clock) -> Timer:
    """Return what a pair of clock readings costs.

    Args:
        clock: returns seconds.
    """
    readings = []
    for _ in range(TIMER_READINGS):
        start = clock()
        readings.append(clock() - start)
    lower, middle, upper = statistics.quantiles(readings, n=4)
    return Timer(middle, (upper - lower) / 2)


def measure_block(segments: Segments, calls: int, clock: Clock, timer: Timer) -> tuple[float, ...]:
    """Time `calls` calls in a row.

    One segment is stamped once around all calls. With two, every call is stamped before, between and after, because
    forward and backward must alternate.

    Returns:
        Seconds of each segment over all calls, less the cost of the clock.
    """
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


def calibrate(segments: Segments, block_seconds: float, clock: Clock, timer: Timer) -> int:
    """Return how many calls make a block last about `block_seconds` in its shortest segment.

    The first call is not counted: it may still warm something up.
    """
    measure_block(segments, 1, clock, timer)
    calls = 1
    while True:
        seconds = min(measure_block(segments, calls, clock, timer))
        if seconds >= block_seconds or calls >= LARGEST_CALLS:
            return calls
        growth = min(max(1.1 * block_seconds / max(seconds, 1e-9), 1.1), LARGEST_GROWTH)
        calls = min(math.ceil(calls * growth), LARGEST_CALLS)


def balanced_orders(count: int, rounds: int, rng: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Yield for each round the order of `count` runners: a random one, then its reverse, and so on.

    Args:
        count: how many runners there are.
        rounds: how many orders to yield; with an odd number the last has no reverse.
        rng: gives the random orders.
    """
    order: tuple[int, ...] = ()
    for index in range(rounds):
        order = tuple(reversed(order)) if index % 2 else tuple(int(i) for i in rng.permutation(count))
        yield order


def sample_rounds(
    runners: Mapping[str, Segments],
    calls: Mapping[str, int],
    orders: Iterator[Sequence[int]],
    time_one: Callable[[str, Segments, int], tuple[float, ...]],
) -> dict[str, list[Block]]:
    """Time one block of each runner in each round.

    Args:
        runners: segments by name.
        calls: calls in a block, by name.
        orders: for each round the order of the runners, as positions in `runners`.
        time_one: `(name, segments, calls) -> seconds of each segment`.

    Returns:
        The blocks by name, in the order of the rounds.
    """
    names = list(runners)
    blocks: dict[str, list[Block]] = {name: [] for name in names}
    for index, order in enumerate(orders):
        for place, position in enumerate(order):
            name = names[position]
            seconds = time_one(name, runners[name], calls[name])
            blocks[name].append(Block(index, place, calls[name], seconds))
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

"""Calibration and rounds on a fake clock, where every call costs what the test says."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyopbench.worker.sampling import (
    LARGEST_CALLS,
    LARGEST_GROWTH,
    Block,
    Calibration,
    Stretch,
    Timer,
    balanced_orders,
    calibrate,
    equal_calls,
    measure_block,
    measure_timer,
    quiet_garbage_collector,
    rounds_within,
    sample_rounds,
)

READING = 2.0**-24
"""What a reading of the fake clock costs. Powers of two, so that sums of them are exact."""

TIMER = Timer(READING, 0.0)


class FakeClock:
    """Stands still but for what calls and readings cost."""

    def __init__(self, reading: float = READING) -> None:
        self.now = 1.0
        self.reading = reading

    def __call__(self) -> float:
        now = self.now
        self.now += self.reading
        return now

    def costing(self, seconds: float, log: list[str] | None = None, name: str = "") -> Callable[[], None]:
        def call() -> None:
            self.now += seconds
            if log is not None:
                log.append(name)

        return call


# The timer


def test_the_timer_costs_what_a_reading_costs() -> None:
    assert measure_timer(FakeClock()) == Timer(READING, 0.0)


def test_the_timer_is_the_median_and_half_the_distance_between_quartiles() -> None:
    """Of eight steps that take turns the middle is 2, the quartiles are 1 and 4; the slow one does not matter."""
    steps = itertools.cycle([0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 0.0, 100.0, 0.0, 1.0, 0.0, 2.0, 0.0, 4.0, 0.0, 1.0])
    now = itertools.accumulate(steps)
    assert measure_timer(lambda: next(now)) == Timer(2.0, 1.5)


# One block


@pytest.mark.parametrize("calls", [1, 7, 1000])
def test_a_block_of_one_segment_lasts_what_its_calls_cost(calls: int) -> None:
    """Exactly: the clock is read twice around all calls, and what that costs is taken off."""
    clock = FakeClock()
    assert measure_block([clock.costing(2.0**-10)], calls, clock, TIMER) == (calls * 2.0**-10,)


@pytest.mark.parametrize("calls", [1, 7, 1000])
def test_a_block_of_two_segments_gives_each_its_own_seconds(calls: int) -> None:
    """Exactly: forward and backward take turns, and every call's readings are taken off."""
    clock, log = FakeClock(), list[str]()
    segments = [clock.costing(2.0**-10, log, "forward"), clock.costing(2.0**-12, log, "backward")]
    assert measure_block(segments, calls, clock, TIMER) == (calls * 2.0**-10, calls * 2.0**-12)
    assert log == ["forward", "backward"] * calls


@pytest.mark.parametrize("share", [0.03, 0.05, 0.10])
def test_a_stretched_block_lasts_longer_by_its_share_in_every_segment(share: float) -> None:
    """It waits when all calls are done, and not after each: no call runs otherwise than its twin's."""
    clock, ends = FakeClock(), list[float]()
    calls = [clock.costing(2.0**-10), clock.costing(2.0**-12)]
    segments = [lambda: (calls[0](), ends.append(clock.now)), calls[1]]
    found = measure_block(segments, 7, clock, TIMER, Stretch(share))
    assert found == pytest.approx((7 * 2.0**-10 * (1 + share), 7 * 2.0**-12 * (1 + share)), abs=2 * READING)
    assert np.diff(ends) == pytest.approx(2.0**-10 + 2.0**-12, abs=4 * READING)
    (alone,) = measure_block(segments[1:], 7, clock, TIMER, Stretch(share))
    assert alone == pytest.approx(7 * 2.0**-12 * (1 + share), abs=2 * READING)


def test_calls_that_take_about_as_long_are_as_many_in_a_block() -> None:
    """Each takes less than twice as long as the one before it, until there is a step."""
    seconds = {"slowest": 100.0, "fast": 1.0, "faster": 0.9, "slower": 1.9, "slow": 3.7, "next": 8.0}
    calls = {"slowest": 1, "fast": 10, "faster": 11, "slower": 5, "slow": 3, "next": 2}
    found = equal_calls({name: Calibration(calls[name], calls[name] * seconds[name]) for name in seconds})
    expected = {"slowest": 1, "fast": 11, "faster": 11, "slower": 11, "slow": 11, "next": 2}
    assert {name: one.calls for name, one in found.items()} == expected
    assert list(found) == list(seconds)
    assert {name: one.call_seconds for name, one in found.items()} == pytest.approx(seconds)


def test_what_costs_less_than_the_timer_costs_nothing() -> None:
    """Never a negative time: the timer was measured slower than it is now."""
    clock, slow = FakeClock(), Timer(1.0, 0.0)
    assert measure_block([clock.costing(0.5)], 1, clock, slow) == (0.0,)
    assert measure_block([clock.costing(0.5), clock.costing(4.0)], 2, clock, slow) == (0.0, 6.0 + 2 * READING)


# Calibration


@pytest.mark.parametrize("seconds", [1e-7, 3e-6, 4e-4, 0.004])
def test_a_calibrated_block_is_long_enough_and_not_much_longer(seconds: float) -> None:
    clock = FakeClock()
    calls = calibrate([clock.costing(seconds)], 0.005, clock, TIMER).calls
    assert 0.005 <= calls * seconds < 0.005 * 1.25 + seconds


def test_a_block_is_as_long_in_its_shortest_segment() -> None:
    clock = FakeClock()
    calls = calibrate([clock.costing(0.001), clock.costing(0.00001)], 0.005, clock, TIMER).calls
    assert 0.005 <= calls * 0.00001 < 0.0065


def test_one_call_is_enough_where_it_is_long_enough() -> None:
    """The first call is a warm-up and is not looked at: here only it is long."""
    clock = FakeClock()
    assert calibrate([clock.costing(0.005 + 1e-9)], 0.005, clock, TIMER).calls == 1
    costs = itertools.chain([1.0], itertools.repeat(0.001))
    first_is_slow = lambda: setattr(clock, "now", clock.now + next(costs))  # noqa: E731
    assert calibrate([first_is_slow], 0.005, clock, TIMER).calls >= 5


def test_a_block_is_long_enough_for_its_timer() -> None:
    """A timer of 1 ms may take a ten-thousandth of a block: 10 s, whatever was asked for."""
    clock, slow = FakeClock(), Timer(0.001, 0.0)
    assert calibrate([clock.costing(1.0)], 0.005, clock, slow).calls >= 10
    both = calibrate([clock.costing(1.0), clock.costing(1.0)], 0.005, clock, slow)
    assert both.calls == 1, "with a stamp at every call more calls dilute nothing"


def test_calibration_tells_how_long_a_block_takes_in_all_segments() -> None:
    clock = FakeClock()
    found = calibrate([clock.costing(0.5), clock.costing(0.25)], 0.25, clock, Timer(READING, 0.0))
    assert (found.calls, found.seconds) == (1, 0.75)


@pytest.mark.parametrize(
    ("round_seconds", "most", "expected"),
    [(0.1, 48, 10), (0.11, 48, 9), (0.01, 48, 48), (5.0, 48, 4), (5.0, 2, 2), (0.01, 1, 1), (0.01, 7, 7), (0.0, 8, 8)],
)
def test_rounds_are_as_many_as_there_is_time_for(round_seconds: float, most: int, expected: int) -> None:
    assert rounds_within(round_seconds, 1.0, most) == expected


def blocks_of_calibration(seconds: float, block_seconds: float) -> list[int]:
    """Return the calls of every block that calibration timed: the counts between two readings of the clock."""
    counts = [0]

    class CountingClock(FakeClock):
        def __call__(self) -> float:
            counts.append(0)
            return super().__call__()

    clock = CountingClock()

    def call() -> None:
        counts[-1] += 1
        clock.now += seconds

    assert calibrate([call], block_seconds, clock, TIMER).calls == max(counts)
    return [count for count in counts if count]


@pytest.mark.parametrize("seconds", [1e-9, 1e-6, 0.0004])
def test_calibration_grows_a_block_by_at_most_a_factor(seconds: float) -> None:
    warm_up, *blocks = blocks_of_calibration(seconds, 0.005)
    assert (warm_up, blocks[0]) == (1, 1)
    for before, after in itertools.pairwise(blocks):
        assert before < after <= LARGEST_GROWTH * before


def test_calibration_ends_at_the_largest_number_of_calls() -> None:
    """A call that costs nothing would never make a block."""
    assert blocks_of_calibration(0.0, 0.005)[-1] == LARGEST_CALLS


# The order of a round


def many_orders(count: int) -> list[tuple[int, ...]]:
    return list(balanced_orders(count, 6000, np.random.default_rng(3)))


def assert_even(found: Counter[Any], kinds: int, of: int) -> None:
    """Check that each of some kinds came about equally often: within 5 standard deviations of independent draws."""
    assert len(found) == kinds
    share = 1 / kinds
    assert all(abs(one - of * share) < 5 * (of * share * (1 - share)) ** 0.5 for one in found.values())


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_every_order_holds_every_runner_once(count: int) -> None:
    assert all(sorted(order) == list(range(count)) for order in many_orders(count))
    assert list(balanced_orders(count, 0, np.random.default_rng(5))) == []


@pytest.mark.parametrize("count", [3, 4, 12])
def test_no_runner_follows_itself_from_round_to_round(count: int) -> None:
    """A block after one of the same runner is faster than any other."""
    orders = many_orders(count)
    assert all(before[-1] != after[0] for before, after in itertools.pairwise(orders))


@pytest.mark.parametrize("count", [3, 4, 6])
def test_no_round_reverses_the_one_before(count: int) -> None:
    """What docs/how-it-measures.md says: an order is drawn afresh, and a reversed one would begin with the last."""
    assert not [order for before, order in itertools.pairwise(many_orders(count)) if order == before[::-1]]


@pytest.mark.parametrize("count", [3, 4, 6])
def test_every_runner_stands_as_often_in_each_place_and_behind_each_other_one(count: int) -> None:
    orders = many_orders(count)
    for place in range(count):
        assert_even(Counter(order[place] for order in orders), count, len(orders))
    for pair in itertools.combinations(range(count), 2):
        assert_even(Counter(order.index(pair[0]) < order.index(pair[1]) for order in orders), 2, len(orders))
    whole = list(itertools.chain.from_iterable(orders))
    assert_even(Counter(itertools.pairwise(whole)), count * (count - 1), len(whole))


def test_of_two_runners_each_is_as_often_the_first_and_behind_itself() -> None:
    orders = many_orders(2)
    assert_even(Counter(order[0] for order in orders), 2, len(orders))
    assert_even(Counter(before[-1] for before, after in itertools.pairwise(orders) if before[-1] == after[0]), 2, 3000)


def test_orders_are_random_and_follow_from_the_seed() -> None:
    first, again, other = (list(balanced_orders(3, 6000, np.random.default_rng(seed))) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert_even(Counter(first), 6, 6000)


# Rounds


def test_rounds_say_for_each_block_where_it_stood() -> None:
    clock, log = FakeClock(), list[str]()
    runners = {name: [clock.costing(2.0**-10 * cost, log, name)] for name, cost in (("a", 1), ("b", 2), ("c", 3))}
    calls = {"a": 2, "b": 1, "c": 3}
    timed = []

    def measure_one(name: str, segments: object, calls_of_block: int) -> tuple[int, tuple[float, ...]]:
        timed.append(name)
        assert segments is runners[name]
        return calls_of_block, measure_block(runners[name], calls_of_block, clock, TIMER)

    blocks = sample_rounds(runners, calls, iter([(2, 0, 1), (1, 0, 2)]), measure_one)
    assert timed == ["c", "a", "b", "b", "a", "c"]
    assert log == [*"cccaab", *"baaccc"]
    unit = 2.0**-10
    assert blocks == {
        "a": [Block(0, 1, 2, (2 * unit,)), Block(1, 1, 2, (2 * unit,))],
        "b": [Block(0, 2, 1, (2 * unit,)), Block(1, 0, 1, (2 * unit,))],
        "c": [Block(0, 0, 3, (9 * unit,)), Block(1, 2, 3, (9 * unit,))],
    }


def test_a_linear_drift_falls_on_all_alike() -> None:
    """Every block costs more than the one before; the medians of differences between equal runners come out near 0."""
    slowing = itertools.count()
    runners = {name: [lambda: None] for name in "abcd"}
    orders = balanced_orders(4, 4001, np.random.default_rng(11))
    blocks = sample_rounds(runners, dict.fromkeys(runners, 1), orders, lambda *block: (1, (float(next(slowing)),)))
    for one, other in itertools.combinations(runners, 2):
        pairs = zip(blocks[one], blocks[other], strict=True)
        differences = [first.segment_seconds[0] - second.segment_seconds[0] for first, second in pairs]
        # Of places that are drawn at random the difference has a standard deviation of 1.8.
        assert abs(sum(differences)) < 5 * 1.8 * 4001**0.5


# The garbage collector


class Knot:
    itself: Knot


def test_garbage_waits_until_after_the_timing() -> None:
    assert gc.isenabled()
    knot = Knot()
    knot.itself = knot
    watcher = weakref.ref(knot)
    del knot
    with quiet_garbage_collector():
        assert watcher() is None, "what was garbage before is gone before the timing begins"
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_garbage_collector_comes_back_after_an_exception() -> None:
    with pytest.raises(KeyError), quiet_garbage_collector():
        raise KeyError
    assert gc.isenabled()

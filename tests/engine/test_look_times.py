"""Looks come after the first sweep, then ever further apart, and no more of them than are charged for."""

from __future__ import annotations

import itertools

import pytest

from pyopbench.engine.look_times import LEAST_GROWTH, WITHIN_RUN, LookTimes


@pytest.mark.parametrize(("first", "most"), [(18, 960), (18, 5760), (36, 2880), (4, 40), (18, 18)])
def test_looks_are_spread_over_what_a_run_may_measure(first: int, most: int) -> None:
    times = LookTimes(most)
    held, rounds = [], first
    while rounds <= most:
        if times.is_due(rounds):
            held.append(rounds)
            times.note(rounds)
        rounds += 1
    assert held[0] == first
    assert all(after >= LEAST_GROWTH * before for before, after in itertools.pairwise(held))
    assert len(held) <= WITHIN_RUN + 1


def test_looks_are_spread_over_what_there_is_time_for() -> None:
    times = LookTimes(1e12)
    times.note(36, 36 * 3**WITHIN_RUN)
    assert times.until(36, 1) == 2 * 36


def test_until_the_next_look_each_launch_has_its_part_of_the_rounds() -> None:
    times = LookTimes(36)
    times.note(18)
    assert times.until(18, 3) == 6
    assert times.until(30, 4) == 2
    assert times.until(36, 4) == 1

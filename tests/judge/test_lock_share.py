"""Amdahl's law read backwards: from what threads bring to how much of a body holds the lock."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pyopbench.judge.lock_share import lock_share


def rates(share: float, possible: float, many: int = 2, launches: int = 3) -> list[dict[str, Any]]:
    """Return calls a second of a body of which a share holds the lock, where processes bring a factor."""
    speedup = 1 / (share + (1 - share) / possible)
    one = {"many": many, "one_thread": 50.0, "threads": 50.0 * speedup, "one_process": 40.0, "processes": 40 * possible}
    return [{"launch": launch, "round": turn, **one} for launch in range(launches) for turn in range(3)]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("possible", [1.5, 2.0, 4.0])
def test_the_share_is_found_whatever_processes_bring(share: float, possible: float) -> None:
    found = lock_share(rates(share, possible, many=4))
    assert found is not None
    assert found.share == pytest.approx(share, abs=1e-9)
    assert found.speedup(possible) == pytest.approx(found.thread_speedup)
    assert found.low <= found.share <= found.high


def test_where_nothing_scales_the_lock_is_not_blamed() -> None:
    found = lock_share(rates(0.0, 1.1))
    assert found is not None
    assert not found.is_known


def test_threads_that_slow_one_another_down_hold_all_of_the_lock() -> None:
    found = lock_share([{**one, "threads": 30.0} for one in rates(1.0, 2.0)])
    assert found is not None
    assert found.share == 1.0


def test_every_number_of_threads_is_a_point_and_the_most_decide() -> None:
    found = lock_share([*rates(0.3, 4.0, many=4), *rates(0.9, 2.0, many=2)])
    assert found is not None
    assert found.many == 4
    assert found.share == pytest.approx(0.3)
    assert [many for many, _, _ in found.scaling] == [2, 4]
    assert found.scaling[0][2] == pytest.approx(2.0)


def test_without_processes_nothing_is_said() -> None:
    assert lock_share([{**one, "processes": None, "one_process": None} for one in rates(0.5, 2.0)]) is None
    assert lock_share([]) is None


def test_one_launch_has_no_interval() -> None:
    found = lock_share(rates(0.5, 2.0, launches=1))
    assert found is not None
    assert math.isnan(found.low)
    assert found.share == pytest.approx(0.5)

"""What is left of the time, what of it was sampling, and what a request costs beside its blocks."""

from __future__ import annotations

import math

import pytest

from fake_clock import Now
from pyopbench.engine import budget
from pyopbench.engine.budget import Budget


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(budget, "time", now)
    return now


def test_what_is_left_is_the_budget_less_what_is_spent_and_what_is_kept(now: Now) -> None:
    whole = Budget(60.0, now.seconds)
    now.seconds += 25.0
    assert (whole.spent, whole.left) == (25.0, 35.0)
    whole.reserve = 10.0
    assert whole.left == 25.0


def test_without_a_limit_there_is_always_time(now: Now) -> None:
    assert math.isinf(Budget(None, now.seconds).left)


def test_only_what_is_within_counts_as_sampling(now: Now) -> None:
    whole = Budget(None, now.seconds)
    now.seconds += 3.0
    for seconds in (2.0, 4.0):
        with whole.sampling():
            now.seconds += seconds
    with whole.looking():
        now.seconds += 1.5
    assert (whole.sampling_seconds, whole.spent, whole.look_seconds) == (6.0, 10.5, 1.5)


def test_as_many_rounds_are_affordable_as_sampling_has_made_in_such_a_time(now: Now) -> None:
    whole = Budget(60.0, now.seconds)
    assert math.isinf(whole.affordable(0.0))
    now.seconds += 10.0
    with whole.sampling():
        now.seconds += 20.0
    assert whole.affordable(12.0) == 18.0


def test_the_cost_of_a_request_is_what_it_takes_beside_its_blocks_on_average() -> None:
    whole = Budget(None, 0.0)
    whole.note_request(1.0, 0.8)
    whole.note_request(2.0, 1.6)
    assert whole.request_seconds == pytest.approx(0.3)

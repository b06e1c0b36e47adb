"""The time left of runs that take turns is the time of all of them."""

from __future__ import annotations

import pytest

import stored
from pyopbench import clock
from pyopbench.clock import Clock, Place
from pyopbench.pace import Progress
from pyopbench.settings import Settings

SETTINGS = Settings(**{**{name: stored.SETTINGS[name] for name in Settings.__dataclass_fields__}, "launches": 3})


class Now:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(clock, "time", now)
    return now


def turns(count: int, told: list[float | None], settings: Settings = SETTINGS) -> list[Clock]:
    """Return clocks of runs of one group with ten cases each, which take turns."""
    clocks = [Clock(settings, 1, lambda step: told.append(step.seconds_left), 0.0) for _ in range(count)]
    for one in clocks:
        one.beside = clocks
    return clocks


def at(launch: int) -> Place:
    return Place(launch, "a group", 0, 1, 10, 10)


def test_a_run_by_itself_has_its_own_launches_left(now: Now) -> None:
    told: list[float | None] = []
    (one,) = turns(1, told)
    one.tell(at(0))
    one.pace.add_group(20.0, 10)
    one.pace.end_launch()
    one.tell(at(1))
    assert told == [None, pytest.approx(40.0)]


def test_a_run_that_takes_turns_counts_the_others_as_long_as_itself_until_they_have_told(now: Now) -> None:
    told: list[float | None] = []
    first, second, third = turns(3, told)
    first.pace.add_group(20.0, 10)
    first.tell(at(0))
    assert told == [pytest.approx(3 * 60.0)]
    second.pace.add_group(10.0, 10)
    second.tell(at(1))
    assert told[1] == pytest.approx(60.0 + 20.0 + 20.0)
    first.end()
    second.tell(at(2))
    assert told[2] == pytest.approx(10.0 + 10.0)
    assert third.left is None


def test_the_budget_ends_what_is_left_of_all(now: Now) -> None:
    told: list[float | None] = []
    settings = Settings(**{**vars(SETTINGS), "launches": 9, "budget_seconds": 100.0})
    first, _ = turns(2, told, settings)
    first.pace.add_group(10.0, 10)
    first.tell(at(0))
    assert told == [pytest.approx(100.0)]
    now.seconds = 95.0
    first.tell(at(0))
    assert told[1] == pytest.approx(2 * 20.0), "two launches of each are made whatever the budget"
    assert first.is_short_of(10)
    assert not first.is_short_of(1)


def test_runs_that_take_turns_end_with_the_same_turn(now: Now) -> None:
    """A turn takes 10 s and 5 s; no turn is begun that would not be ended, and none that was begun is left alone."""
    settings = Settings(**{**vars(SETTINGS), "launches": 9, "budget_seconds": 100.0})
    first, second = turns(2, [], settings)
    for one, seconds in ((first, 10.0), (second, 5.0)):
        one.pace.add_group(seconds, 10)
        one.end_launch()
    now.seconds = 85.0
    assert not second.is_short_of(10), "both fit"
    second.end_launch()
    now.seconds = 99.0
    assert not first.is_short_of(10), "the other one has made its launch of this turn"
    first.end_launch()
    now.seconds = 86.0
    assert first.is_short_of(10), "15 s do not fit"
    assert second.is_short_of(1), "it would have no partner, though 1.5 s fit"


def test_a_run_that_has_ended_is_not_waited_for(now: Now) -> None:
    settings = Settings(**{**vars(SETTINGS), "launches": 9, "budget_seconds": 100.0})
    first, second = turns(2, [], settings)
    for one in (first, second):
        one.pace.add_group(10.0, 10)
        one.end_launch()
    first.end()
    now.seconds = 85.0
    assert not second.is_short_of(10)


def test_progress_says_where_the_run_stands(now: Now) -> None:
    steps: list[Progress] = []
    Clock(SETTINGS, 7, steps.append, 0.0).tell(Place(1, "a group", 2, 5, 30, 50))
    assert steps == [Progress(1, 3, "a group", 2, 5, 7, None)]

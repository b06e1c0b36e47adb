"""What the next launch will take, and what is left of runs that are interleaved, are told from the newest launches."""

from __future__ import annotations

import pytest

import stored
from pyopbench.run import budget
from pyopbench.run.budget import Budget, Durations, Position, Progress
from pyopbench.run.settings import Settings


def test_nothing_is_predicted_before_the_first_group() -> None:
    durations = Durations()
    durations.add_start(9.0)
    assert durations.predict(4, 1) is None


def test_a_launch_is_its_start_and_its_cases() -> None:
    durations = Durations()
    durations.add_start(9.0)
    durations.add_group(3.0, 2)
    durations.add_group(1.0, 2)
    assert durations.predict(10, 1) == pytest.approx(9.0 + 10 * 1.0)
    assert durations.predict(2) == pytest.approx(2.0)


def test_the_newest_complete_launch_stands_for_the_next_ones() -> None:
    """The first is slower, and so is the beginning of any other."""
    durations = Durations()
    durations.add_group(100.0, 10)
    durations.end_launch()
    durations.add_group(8.0, 1)
    assert durations.predict(1) == pytest.approx(10.0)
    durations.add_group(2.0, 9)
    durations.end_launch()
    assert durations.predict(1) == pytest.approx(1.0)


def test_a_launch_that_measured_nothing_tells_nothing() -> None:
    durations = Durations()
    durations.add_group(6.0, 2)
    durations.end_launch()
    durations.end_launch()
    assert durations.predict(1) == pytest.approx(3.0)


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
    monkeypatch.setattr(budget, "time", now)
    return now


def interleaved(count: int, told: list[float | None], settings: Settings = SETTINGS) -> list[Budget]:
    """Return budgets of runs of one group with ten cases each, which are interleaved."""
    budgets = [Budget(settings, 1, lambda step: told.append(step.seconds_left), 0.0) for _ in range(count)]
    for one in budgets:
        one.interleaved = budgets
    return budgets


def at(launch: int) -> Position:
    return Position(launch, "a group", 0, 1, 10, 10)


def test_a_run_by_itself_has_its_own_launches_left(now: Now) -> None:
    told: list[float | None] = []
    (one,) = interleaved(1, told)
    one.show_progress(at(0))
    one.durations.add_group(20.0, 10)
    one.durations.end_launch()
    one.show_progress(at(1))
    assert told == [None, pytest.approx(40.0)]


def test_a_interleaved_run_counts_the_others_as_long_as_itself_until_they_have_told(now: Now) -> None:
    told: list[float | None] = []
    first, second, third = interleaved(3, told)
    first.durations.add_group(20.0, 10)
    first.show_progress(at(0))
    assert told == [pytest.approx(3 * 60.0)]
    second.durations.add_group(10.0, 10)
    second.show_progress(at(1))
    assert told[1] == pytest.approx(60.0 + 20.0 + 20.0)
    first.end()
    second.show_progress(at(2))
    assert told[2] == pytest.approx(10.0 + 10.0)
    assert third.seconds_left is None


def test_the_budget_ends_what_is_left_of_all(now: Now) -> None:
    told: list[float | None] = []
    settings = Settings(**{**vars(SETTINGS), "launches": 9, "budget_seconds": 100.0})
    first, _ = interleaved(2, told, settings)
    first.durations.add_group(10.0, 10)
    first.show_progress(at(0))
    assert told == [pytest.approx(100.0)]
    now.seconds = 95.0
    first.show_progress(at(0))
    assert told[1] == pytest.approx(2 * 20.0), "two launches of each are made whatever the budget"
    assert first.is_short_of(10)
    assert not first.is_short_of(1)


def test_interleaved_runs_end_after_the_same_launch(now: Now) -> None:
    """A launch of each takes 10 s and 5 s; none is begun that would not be ended, and none lacks its partner."""
    settings = Settings(**{**vars(SETTINGS), "launches": 9, "budget_seconds": 100.0})
    first, second = interleaved(2, [], settings)
    for one, seconds in ((first, 10.0), (second, 5.0)):
        one.durations.add_group(seconds, 10)
        one.end_launch()
    now.seconds = 85.0
    assert not second.is_short_of(10), "both fit"
    second.end_launch()
    now.seconds = 99.0
    assert not first.is_short_of(10), "the other one has made this launch"
    first.end_launch()
    now.seconds = 86.0
    assert first.is_short_of(10), "15 s do not fit"
    assert second.is_short_of(1), "it would have no partner, though 1.5 s fit"


def test_a_run_that_has_ended_is_not_waited_for(now: Now) -> None:
    settings = Settings(**{**vars(SETTINGS), "launches": 9, "budget_seconds": 100.0})
    first, second = interleaved(2, [], settings)
    for one in (first, second):
        one.durations.add_group(10.0, 10)
        one.end_launch()
    first.end()
    now.seconds = 85.0
    assert not second.is_short_of(10)


def test_progress_says_where_the_run_stands(now: Now) -> None:
    steps: list[Progress] = []
    Budget(SETTINGS, 7, steps.append, 0.0).show_progress(Position(1, "a group", 2, 5, 30, 50))
    assert steps == [Progress(1, 3, "a group", 2, 5, 7, None)]

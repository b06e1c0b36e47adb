"""Interim analyses: of which runs, when they are due, and what they may take."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_clock import Now
from pyopbench.engine import budget
from pyopbench.engine.budget import LEAST_LAUNCHES, Budget
from pyopbench.engine.interim_analyses import LEAST_GROWTH, MOST_SHARE, WITHIN_RUN, InterimAnalyses, InterimTimes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Now:
    clock = Now()
    monkeypatch.setattr(budget, "time", clock)
    return clock


class Work:
    """Stands for what is still to be done of a run, and keeps what it was narrowed by."""

    def __init__(self, name: str, launches: int = 4, looks: int = 0, *, until: str = "decided", cases: int = 3) -> None:
        self.folder, self.launches, self.looks, self._cases = Path(name), launches, looks, cases
        self.settings = SimpleNamespace(until=until)
        self.most_launches = 8
        self.is_in_pipeline = False
        self.narrowed: list[Any] = []

    def unfailed(self) -> range:
        return range(self._cases)

    def narrow(self, look: Any) -> None:
        self.narrowed.append(look(self.launches, self.most_launches))

    def narrow_to(self, cases: Any) -> None:
        self.narrowed.append(cases)


def of_one(launches: int, most: int) -> frozenset[str]:
    return frozenset({f"open after {launches} of {most}"})


def hold(whole: Budget, *works: Work, together: Any = None) -> list[list[Any]]:
    looks = InterimAnalyses(works, {one.folder: of_one for one in works}, together, whole)  # type: ignore[arg-type]
    looks.hold(works)  # type: ignore[arg-type]
    return [one.narrowed for one in works]


@pytest.mark.parametrize(
    ("work", "is_held"),
    [
        pytest.param(Work("a"), True, id="usual"),
        pytest.param(Work("a", until="end"), False, id="to-the-end"),
        pytest.param(Work("a", looks=WITHIN_RUN), False, id="none-left"),
        pytest.param(Work("a", launches=LEAST_LAUNCHES - 1), False, id="no-interval"),
        pytest.param(Work("a", launches=LEAST_LAUNCHES), True, id="an-interval"),
    ],
)
def test_each_run_is_looked_at_where_that_tells_something(work: Work, is_held: bool) -> None:
    other = Work("b")
    expected = [of_one(work.launches, 8)] if is_held else []
    assert hold(Budget(None, 0.0), work, other) == [expected, [of_one(4, 8)]]


def test_only_the_runs_that_are_named_are_looked_at() -> None:
    works = [Work("a"), Work("b")]
    looks = InterimAnalyses(works, {one.folder: of_one for one in works}, None, Budget(None, 0.0))  # type: ignore[arg-type]
    looks.hold(works[1:])  # type: ignore[arg-type]
    assert [one.narrowed for one in works] == [[], [of_one(4, 8)]]


def of_all(launches: int, most: int) -> dict[Path, frozenset[str]]:
    return {Path("a"): frozenset({"a's"}), Path("b"): frozenset({f"b's after {launches} of {most}"})}


@pytest.mark.parametrize("together", [None, of_all])
def test_a_look_takes_no_large_share_of_the_time_that_is_left(clock: Now, together: Any) -> None:
    whole = Budget(60.0, clock.seconds)
    clock.seconds += 30.0
    whole.look_seconds = MOST_SHARE * 30.0
    assert hold(whole, Work("a"), together=together) == [[]]
    whole.look_seconds -= 0.1
    (held,) = hold(whole, Work("a"), together=together)
    assert len(held) == 1


@pytest.mark.parametrize("together", [None, of_all])
def test_what_a_look_takes_is_noted(clock: Now, together: Any) -> None:
    whole, work = Budget(60.0, clock.seconds), Work("a")

    def slow(launches: int, most: int) -> Any:
        clock.seconds += 7.0
        return (together or of_one)(launches, most)

    InterimAnalyses([work], {work.folder: slow}, together and slow, whole).hold([work])  # type: ignore[arg-type, list-item]
    assert whole.look_seconds == 7.0


def test_runs_are_looked_at_together_by_the_launches_that_all_have() -> None:
    found = hold(Budget(None, 0.0), Work("a", launches=5), Work("b", launches=3), together=of_all)
    assert found == [[frozenset({"a's"})], [frozenset({"b's after 3 of 8"})]]


def test_runs_are_looked_at_together_or_not_at_all() -> None:
    assert hold(Budget(None, 0.0), Work("a"), Work("b", launches=1), together=of_all) == [[], []]
    assert hold(Budget(None, 0.0), Work("a"), Work("b", looks=WITHIN_RUN), together=of_all) == [[], []]


def test_a_run_of_which_all_has_failed_keeps_none_from_being_looked_at() -> None:
    found = hold(Budget(None, 0.0), Work("a"), Work("b", looks=WITHIN_RUN, cases=0), together=of_all)
    assert found == [[frozenset({"a's"})], [frozenset({"b's after 4 of 8"})]]


@pytest.mark.parametrize(("first", "most"), [(18, 960), (18, 5760), (36, 2880), (4, 40), (18, 18)])
def test_looks_are_spread_over_what_a_run_may_measure(first: int, most: int) -> None:
    times = InterimTimes(most)
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
    times = InterimTimes(1e12)
    times.note(36, 36 * 3**WITHIN_RUN)
    assert times.until(36, 1) == 2 * 36


def test_until_the_next_look_each_launch_has_its_part_of_the_rounds() -> None:
    times = InterimTimes(36)
    times.note(18)
    assert times.until(18, 3) == 6
    assert times.until(30, 4) == 2
    assert times.until(36, 4) == 1

"""Looks are held where they may change what comes and there is time for them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_clock import Now
from pyopbench.engine import budget
from pyopbench.engine.budget import LEAST_LAUNCHES, Budget
from pyopbench.engine.look_times import WITHIN_RUN
from pyopbench.engine.looks import MOST_SHARE, Looks


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(budget, "time", now)
    return now


class Work:
    """Stands for what is still to be done of a run, and keeps what it was narrowed by."""

    def __init__(self, name: str, launches: int = 4, looks: int = 0, *, until: str = "decided", cases: int = 3) -> None:
        self.folder, self.launches, self.looks, self._cases = Path(name), launches, looks, cases
        self.settings = SimpleNamespace(until=until)
        self.narrowed: list[Any] = []

    def unfailed(self) -> range:
        return range(self._cases)

    def narrow(self, look: Any) -> None:
        self.narrowed.append(look(self.launches))

    def narrow_to(self, cases: Any) -> None:
        self.narrowed.append(cases)


def of_one(launches: int) -> frozenset[str]:
    return frozenset({f"open after {launches}"})


def hold(whole: Budget, *works: Work, together: Any = None) -> list[list[Any]]:
    looks = Looks(works, {one.folder: of_one for one in works}, together, whole)  # type: ignore[arg-type]
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
    expected = [of_one(work.launches)] if is_held else []
    assert hold(Budget(None, 0.0), work, other) == [expected, [of_one(4)]]


def test_only_the_runs_that_are_named_are_looked_at() -> None:
    works = [Work("a"), Work("b")]
    looks = Looks(works, {one.folder: of_one for one in works}, None, Budget(None, 0.0))  # type: ignore[arg-type]
    looks.hold(works[1:])  # type: ignore[arg-type]
    assert [one.narrowed for one in works] == [[], [of_one(4)]]


def of_all(launches: int) -> dict[Path, frozenset[str]]:
    return {Path("a"): frozenset({"a's"}), Path("b"): frozenset({f"b's after {launches}"})}


@pytest.mark.parametrize("together", [None, of_all])
def test_a_look_takes_no_large_share_of_the_time_that_is_left(now: Now, together: Any) -> None:
    whole = Budget(60.0, now.seconds)
    now.seconds += 30.0
    whole.look_seconds = MOST_SHARE * 30.0
    assert hold(whole, Work("a"), together=together) == [[]]
    whole.look_seconds -= 0.1
    (held,) = hold(whole, Work("a"), together=together)
    assert len(held) == 1


@pytest.mark.parametrize("together", [None, of_all])
def test_what_a_look_takes_is_noted(now: Now, together: Any) -> None:
    whole, work = Budget(60.0, now.seconds), Work("a")

    def slow(launches: int) -> Any:
        now.seconds += 7.0
        return (together or of_one)(launches)

    Looks([work], {work.folder: slow}, together and slow, whole).hold([work])  # type: ignore[arg-type, list-item]
    assert whole.look_seconds == 7.0


def test_runs_are_looked_at_together_by_the_launches_that_all_have() -> None:
    found = hold(Budget(None, 0.0), Work("a", launches=5), Work("b", launches=3), together=of_all)
    assert found == [[frozenset({"a's"})], [frozenset({"b's after 3"})]]


def test_runs_are_looked_at_together_or_not_at_all() -> None:
    assert hold(Budget(None, 0.0), Work("a"), Work("b", launches=1), together=of_all) == [[], []]
    assert hold(Budget(None, 0.0), Work("a"), Work("b", looks=WITHIN_RUN), together=of_all) == [[], []]


def test_a_run_of_which_all_has_failed_keeps_none_from_being_looked_at() -> None:
    found = hold(Budget(None, 0.0), Work("a"), Work("b", looks=WITHIN_RUN, cases=0), together=of_all)
    assert found == [[frozenset({"a's"})], [frozenset({"b's after 4"})]]

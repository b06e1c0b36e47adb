"""What a run does next: other launches, an interim analysis, another sweep."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fake_clock import Now
from pyopbench.engine import budget, next_step
from pyopbench.engine.budget import LEAST_LAUNCHES, Budget
from pyopbench.engine.next_step import (
    LEAST_FOR_INTERIM,
    LEAST_GROWTH,
    MOST_SHARE,
    START_SECONDS,
    WITHIN_RUN,
    InterimAnalyses,
    InterimTimes,
    NextStep,
)
from pyopbench.stats.allocation import LEAST_ROUNDS, Costs, Left, Made, Variances
from pyopbench.stats.estimate import LEAST_COMPARISONS, MOST_DEGREES

ROUNDS_DIFFER = Variances(between=0.0, within=1.0)
LAUNCHES_DIFFER = Variances(between=1.0, within=1e-6)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> Now:
    now = Now()
    monkeypatch.setattr(budget, "time", now)
    return now


def work(launches: int = 0, needed: int = 5, *, cases: int = 3, is_revision: bool = False, apart: int = 0) -> Any:
    """Stands for what is still to be done of a run."""
    return SimpleNamespace(
        launches=launches,
        most_needed=needed,
        unfailed=lambda: range(cases),
        checkout="a revision" if is_revision else None,
        apart=set(range(apart)),
    )


def warm(of: Any, launch: int = 0, *open_groups: str) -> Any:
    """Stands for a launch that is warm."""
    return SimpleNamespace(work=of, launch=launch, rounds={"f": 2, "g": 3}, open_groups=lambda: list(open_groups))


def sweeps(launches: list[Any], variances: Variances | None = None, made: Made | None = None) -> Any:
    """Stands for launches that have taken turns: one more costs ten seconds, and a round of one costs one."""
    return SimpleNamespace(
        launches=launches,
        variances=lambda: variances,
        made=made or Made(len(launches), 10),
        costs=lambda preparing_seconds: Costs(preparing_seconds, 1.0),
    )


def is_another_better(step: NextStep, found: Any) -> bool:
    return step.is_another_launch_better(found, preparing_seconds=10.0)


def test_the_first_batch_begins_whatever_time_is_left(now: Now) -> None:
    step = NextStep([work(launches=9)], Budget(60.0, now.seconds))
    now.seconds += 90.0
    assert step.may_begin()
    step.note_begin()
    assert not step.may_begin()


def test_batches_begin_for_as_long_as_there_is_time_for_one(now: Now) -> None:
    step = NextStep([work(launches=LEAST_LAUNCHES)], Budget(60.0, now.seconds))
    step.note_begin()
    step.note_first_sweep(20.0)
    now.seconds += 39.0
    assert step.may_begin()
    now.seconds += 1.0
    assert not step.may_begin()


def test_a_batch_of_which_nothing_gets_warm_is_taken_to_cost_what_the_one_before_did(now: Now) -> None:
    step = NextStep([work(launches=LEAST_LAUNCHES)], Budget(60.0, now.seconds))
    step.note_begin()
    step.note_first_sweep(20.0)
    step.note_begin()
    now.seconds += 40.0
    assert not step.may_begin()


def test_the_last_batch_tells_what_another_one_takes(now: Now) -> None:
    step = NextStep([work(launches=LEAST_LAUNCHES)], Budget(60.0, now.seconds))
    step.note_first_sweep(70.0)
    assert not step.may_begin()
    step.note_first_sweep(50.0)
    assert step.may_begin()


def test_a_run_that_needs_no_launch_keeps_no_other_going(now: Now) -> None:
    step = NextStep([work(needed=0), work(launches=LEAST_LAUNCHES)], Budget(60.0, now.seconds))
    step.note_begin()
    now.seconds += 90.0
    assert not step.may_begin()


def test_a_run_without_an_interval_goes_on_without_time(now: Now) -> None:
    works = [work(launches=LEAST_LAUNCHES), work(launches=LEAST_LAUNCHES - 1)]
    step = NextStep(works, Budget(60.0, now.seconds))
    step.note_begin()
    now.seconds += 90.0
    assert step.may_begin()


def test_half_of_the_time_is_kept_where_a_second_launch_is_still_to_come(now: Now) -> None:
    one, whole = work(launches=0), Budget(60.0, now.seconds)
    step = NextStep([one], whole)
    assert step.reserve_seconds([one], [warm(one, 0)]) == 30.0
    assert step.reserve_seconds([one], [warm(one, 0), warm(one, 1)]) == 0.0
    assert NextStep([one], Budget(None, now.seconds)).reserve_seconds([one], [warm(one, 0)]) == 0.0


def test_what_goes_apart_has_its_start_kept_for_each_launch(now: Now) -> None:
    one, whole = work(launches=2, apart=3), Budget(60.0, now.seconds)
    assert NextStep([one], whole).reserve_seconds([one], [warm(one, 2), warm(one, 3)]) == 6 * START_SECONDS


def test_what_is_kept_is_for_all_runs_and_for_each_number_once(now: Now) -> None:
    works = [work(launches=3, apart=1), work(launches=0, apart=2)]
    step = NextStep([*works, work(apart=9)], Budget(60.0, now.seconds))
    block = [warm(of, 3) for of in works]
    assert step.reserve_seconds(works, block) == 3 * START_SECONDS + 30.0


def test_nothing_goes_on_where_nothing_is_open_and_no_launch_is_needed() -> None:
    done, lacking = work(needed=0), work(needed=1)
    step = NextStep([done, lacking], Budget(None, 0.0))
    assert not step.can_go_on(sweeps([warm(done)]))
    assert step.can_go_on(sweeps([warm(done, 0, "g")]))
    assert step.can_go_on(sweeps([warm(lacking)]))


def revisions(launches: int, **changes: Any) -> list[Any]:
    return [work(launches=launches, is_revision=True, **changes) for _ in range(2)]


@pytest.mark.parametrize(
    ("works", "is_too_early"),
    [
        pytest.param(revisions(LEAST_FOR_INTERIM - 1), True, id="few"),
        pytest.param(revisions(LEAST_FOR_INTERIM), False, id="enough"),
        pytest.param(revisions(1, needed=0), False, id="no-others"),
        pytest.param(revisions(1, cases=LEAST_COMPARISONS), False, id="many-cases"),
        pytest.param([work(launches=1)], False, id="no-revisions"),
        pytest.param([*revisions(1), work(launches=1)], False, id="one-is-no-revision"),
        pytest.param([*revisions(LEAST_FOR_INTERIM), *revisions(1)], True, id="one-has-few"),
        pytest.param([*revisions(1), *revisions(1, cases=LEAST_COMPARISONS)], False, id="one-has-many-cases"),
    ],
)
def test_a_look_waits_for_launches_of_revisions(works: list[Any], is_too_early: bool) -> None:
    step = NextStep(works, Budget(None, 0.0))
    step.note_begin()
    assert step.is_too_early() == is_too_early


def test_a_look_does_not_wait_for_launches_that_there_is_no_time_for(now: Now) -> None:
    step = NextStep(revisions(1), Budget(60.0, now.seconds))
    step.note_begin()
    step.note_first_sweep(40.0)
    assert step.is_too_early()
    now.seconds += 30.0
    assert not step.is_too_early()


@pytest.mark.parametrize(("variances", "is_better"), [(ROUNDS_DIFFER, False), (LAUNCHES_DIFFER, True)])
def test_further_launches_are_begun_where_launches_differ(now: Now, variances: Variances, is_better: bool) -> None:
    one = work(launches=4, needed=100)
    step = NextStep([one], Budget(600.0, now.seconds))
    step.note_begin()
    step.note_first_sweep(20.0)
    assert is_another_better(step, sweeps([warm(one, number, "g") for number in range(4)], variances)) == is_better


def begun(works: list[Any], seconds: float, now: Now) -> NextStep:
    """Return what decides in a first batch, of which another one would take 20 seconds."""
    step = NextStep(works, Budget(seconds, now.seconds))
    step.note_begin()
    step.note_first_sweep(20.0)
    return step


@pytest.mark.parametrize(("needed", "seconds", "is_better"), [(5, 600.0, True), (0, 600.0, False), (5, 20.0, False)])
def test_no_launch_is_begun_that_is_not_allowed_or_affordable(
    now: Now, needed: int, seconds: float, is_better: bool
) -> None:
    works = [work(launches=1, needed=needed, cases=LEAST_COMPARISONS) for _ in range(2)]
    block = sweeps(list(map(warm, works)), None, Made(1, 50))
    assert is_another_better(begun(works, seconds, now), block) == is_better


def test_what_is_allowed_is_of_the_runs_that_are_warm(now: Now) -> None:
    works = [work(launches=1, needed=needed, cases=LEAST_COMPARISONS) for needed in (0, 5)]
    step = begun(works, 600.0, now)
    assert not is_another_better(step, sweeps([warm(works[0])], None, Made(1, 50)))
    assert is_another_better(step, sweeps([warm(works[1])], None, Made(1, 50)))


def weighed(
    now: Now, monkeypatch: pytest.MonkeyPatch, of: Any, variances: Variances, step: NextStep | None = None
) -> Any:
    """Return what `allocation.better` is given to decide by, after the variances and the costs."""
    asked: list[Any] = []

    def better(variances: Variances, costs: Costs, *others: Any) -> str:
        asked.extend(others)
        return "rounds"

    monkeypatch.setattr(next_step.allocation, "better", better)
    is_another_better(step or begun([of], 600.0, now), sweeps([warm(of, number) for number in range(4)], variances))
    return asked


def test_rounds_and_launches_are_weighed_by_what_was_made_and_what_is_left(
    now: Now, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = work(launches=4, needed=7), work(launches=4, needed=7, cases=LEAST_COMPARISONS)
    made = Made(4, 10)
    assert weighed(now, monkeypatch, few, LAUNCHES_DIFFER) == [[made], Left(600.0, 7), 0.0]
    assert weighed(now, monkeypatch, many, LAUNCHES_DIFFER) == [[made], Left(600.0, 7), MOST_DEGREES]
    assert weighed(now, monkeypatch, few, Variances(0.0, 0.0)) == [], "nothing is known"
    step = begun([few], 600.0, now)
    for launches in (3, 2):
        step.note_end(sweeps([warm(few)] * launches))
    assert step.rounds == 3 * 5
    earlier = [Made(3, 10), Made(2, 10), made]
    assert weighed(now, monkeypatch, few, LAUNCHES_DIFFER, step) == [earlier, Left(600.0, 7), 0.0]


@pytest.mark.parametrize(("rounds", "is_better"), [(LEAST_ROUNDS - 1, False), (LEAST_ROUNDS, True)])
def test_where_a_look_waits_for_launches_others_are_begun_after_few_rounds(
    now: Now, rounds: int, is_better: bool
) -> None:
    works = revisions(2)
    step = begun(works, 600.0, now)
    assert is_another_better(step, sweeps(list(map(warm, works)), None, Made(2, rounds))) == is_better


def test_a_run_of_one_version_is_not_given_a_second_batch_for_that(now: Now) -> None:
    one = work(launches=1)
    assert not is_another_better(begun([one], 600.0, now), sweeps([warm(one)], None, Made(1, 50)))


@pytest.mark.parametrize(("rounds", "is_better"), [(LEAST_ROUNDS, False), (9, False), (10, True)])
def test_a_block_alone_samples_for_as_long_as_another_takes_to_start(now: Now, rounds: int, is_better: bool) -> None:
    works = [work(launches=1, cases=LEAST_COMPARISONS) for _ in range(2)]
    step = NextStep(works, Budget(600.0, now.seconds))
    step.note_begin()
    assert is_another_better(step, sweeps(list(map(warm, works)), None, Made(1, rounds))) == is_better


def test_a_second_block_is_begun_only_once_although_nothing_shows_how_far_they_differ(now: Now) -> None:
    works = [work(launches=1, cases=LEAST_COMPARISONS) for _ in range(2)]
    step = NextStep(works, Budget(600.0, now.seconds))
    step.note_begin()
    block = sweeps(list(map(warm, works)), None, Made(1, 50))
    assert is_another_better(step, block)
    step.note_end(block)
    assert step.rounds == 6.0
    assert not is_another_better(step, block)


def test_a_lost_launch_is_replaced_where_that_is_worth_it(now: Now, monkeypatch: pytest.MonkeyPatch) -> None:
    room: dict[int, bool] = {1 << 30: True, 1 << 40: False, next_step.memory.ASSUMED_BYTES: False}
    monkeypatch.setattr(next_step.memory, "has_room", lambda many, size, taken: room[size])
    step = NextStep([work()], Budget(60.0, now.seconds))

    def is_worth(seconds: float = 1.0, size: int | None = 1 << 30, beside: int = LEAST_LAUNCHES) -> bool:
        return step.is_worth_replacing(SimpleNamespace(seconds=seconds, worker_bytes=size), beside)  # type: ignore[arg-type]

    assert is_worth()
    assert not is_worth(size=1 << 40)
    assert not is_worth(size=None)
    assert not is_worth(seconds=31.0)
    assert is_worth(seconds=math.inf, size=1 << 40, beside=LEAST_LAUNCHES - 1)


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
        self.is_in_pipeline = False
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
    expected = [of_one(work.launches)] if is_held else []
    assert hold(Budget(None, 0.0), work, other) == [expected, [of_one(4)]]


def test_only_the_runs_that_are_named_are_looked_at() -> None:
    works = [Work("a"), Work("b")]
    looks = InterimAnalyses(works, {one.folder: of_one for one in works}, None, Budget(None, 0.0))  # type: ignore[arg-type]
    looks.hold(works[1:])  # type: ignore[arg-type]
    assert [one.narrowed for one in works] == [[], [of_one(4)]]


def of_all(launches: int) -> dict[Path, frozenset[str]]:
    return {Path("a"): frozenset({"a's"}), Path("b"): frozenset({f"b's after {launches}"})}


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

    def slow(launches: int) -> Any:
        clock.seconds += 7.0
        return (together or of_one)(launches)

    InterimAnalyses([work], {work.folder: slow}, together and slow, whole).hold([work])  # type: ignore[arg-type, list-item]
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

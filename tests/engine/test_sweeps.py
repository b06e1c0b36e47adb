"""What sweeps have made and what more of it costs; that they are made is tested in test_schedule.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import stored
from pyopbench.engine.budget import Budget
from pyopbench.engine.contrasts import Contrasts
from pyopbench.engine.sweeps import COMPARISON_SWEEP_ROUNDS, LEAST_ROUNDS, Sweeps
from pyopbench.engine.warm_launch import runner_key
from pyopbench.model.case import Case
from pyopbench.stats.allocation import Costs, Made

REQUEST_SECONDS = 0.5
CASES = {size: stored.case("well", size=size) for size in (1, 2)}
GROUPS = {stored.group(size=size): case for size, case in CASES.items()}
SMALL, LARGE = GROUPS


def work(*, group_seconds: float = 1000.0, rounds: int = 100) -> Any:
    """Stands for what is still to be done of a run: two groups of one case."""
    settings = SimpleNamespace(seed=0, group_seconds=group_seconds, rounds=rounds)
    return SimpleNamespace(groups=[*GROUPS], cases=lambda group: [GROUPS[group]], settings=settings)


def warm(of: Any, launch: int, *open_groups: str, **rounds: int) -> Any:
    """Stands for a launch that is warm; `rounds` are of the group of size 1."""
    return SimpleNamespace(
        work=of,
        launch=launch,
        prepared=[*GROUPS],
        rounds={SMALL: rounds.get("rounds", 0)},
        open_groups=lambda: list(open_groups),
    )


def sweeps_of(*launches: Any, works: list[Any] | None = None) -> Sweeps:
    """Return sweeps by launches: a round of size 1 takes one second and one of size 2 takes three."""
    whole = Budget(None, 0.0, request_seconds=REQUEST_SECONDS)
    whole.round_seconds = dict(zip(map(key_of, GROUPS.values()), (1.0, 3.0), strict=True))
    found = works or [launches[0].work]
    return Sweeps(launches, whole, "", lambda step: None, Contrasts(found))


def key_of(case: str) -> str:
    return runner_key(Case.from_id(case))


def test_launches_of_a_run_have_the_rounds_of_the_one_that_has_fewest() -> None:
    one = work()
    found = sweeps_of(warm(one, 0, SMALL, rounds=9), warm(one, 1, SMALL, rounds=6))
    assert found.made == Made(2, 6)
    assert sweeps_of(warm(one, 0, SMALL)).made == Made(1, 1), "at least one, by which costs are divided"


def test_a_round_costs_what_is_open_in_a_launch_on_average() -> None:
    one = work()
    found = sweeps_of(warm(one, 0, SMALL), warm(one, 1, SMALL, LARGE))
    assert found.costs(preparing_seconds=8.0) == Costs(4.0, (1.0 + 4.0) / 2)


def test_what_one_pass_times_for_two_cases_costs_once() -> None:
    both = [stored.case("well", gradient="tape", direction=direction) for direction in ("backward", "forward+backward")]
    one = SimpleNamespace(cases=lambda group: both, settings=work().settings, groups=["g"])
    sweeps = sweeps_of(warm(one, 0, "g"))
    sweeps._budget.round_seconds = {key_of(both[0]): 2.0}
    assert sweeps.costs(preparing_seconds=8.0).round_seconds == 2.0


def test_of_versions_blocks_are_counted_in_which_there_is_something_to_compare() -> None:
    works = [work(), work()]
    pairs = [warm(of, launch, SMALL) for launch in (0, 1) for of in works]
    assert sweeps_of(*pairs, works=works).made == Made(2, 1)
    assert sweeps_of(*pairs[:3], works=works).made == Made(1, 1)
    assert sweeps_of(pairs[0], works=works).made == Made(1, 1)


def test_a_sweep_of_versions_costs_the_turns_of_a_block_with_their_requests() -> None:
    works = [work(), work()]
    pairs = [warm(of, launch, SMALL, LARGE) for launch in (0, 1) for of in works]
    turn = REQUEST_SECONDS + COMPARISON_SWEEP_ROUNDS * 1.0, REQUEST_SECONDS + COMPARISON_SWEEP_ROUNDS * 3.0
    assert sweeps_of(*pairs, works=works).costs(preparing_seconds=8.0) == Costs(4.0, 2 * sum(turn))


@pytest.mark.parametrize(("group_seconds", "rounds"), [(1.0, LEAST_ROUNDS), (9.0, 3)])
def test_a_slow_group_has_fewer_rounds_in_its_turn(group_seconds: float, rounds: int) -> None:
    works = [work(group_seconds=group_seconds), work(group_seconds=group_seconds)]
    found = sweeps_of(*(warm(of, 0, LARGE) for of in works), works=works)
    assert found.costs(preparing_seconds=8.0).round_seconds == 2 * (REQUEST_SECONDS + rounds * 3.0)


def test_a_group_has_no_more_rounds_than_its_launch_may_have() -> None:
    works = [work(rounds=10), work(rounds=10)]
    found = sweeps_of(*(warm(of, 0, SMALL, rounds=9) for of in works), works=works)
    assert found.costs(preparing_seconds=8.0).round_seconds == 2 * (REQUEST_SECONDS + 1.0)


def test_what_a_look_has_closed_costs_nothing() -> None:
    works = [work(), work()]
    found = sweeps_of(warm(works[0], 0, SMALL), warm(works[1], 0), works=works)
    assert found.costs(preparing_seconds=8.0).round_seconds == REQUEST_SECONDS + COMPARISON_SWEEP_ROUNDS * 1.0

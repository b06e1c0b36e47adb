"""Workers take turns in sweeps, and what they sample shows how far launches and rounds differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stored
from pyopbench.engine.budget import Budget
from pyopbench.engine.launch import runner_key
from pyopbench.engine.sweeps import COMPARISON_SWEEP_ROUNDS, LEAST_ROUNDS, LEAST_SWEEPS, Contrasts, Sweeps
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


def warm(of: Any, launch: int, *open_groups: str, **rounds: Any) -> Any:
    """Stands for a launch that is warm, on a placement; `rounds` are of the group of size 1."""
    return SimpleNamespace(
        work=of,
        launch=launch,
        placement=rounds.pop("placement", "cpu"),
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


def test_two_workers_of_a_launch_count_once_and_cost_both() -> None:
    one = work()
    both = [warm(one, launch, SMALL, placement=place, rounds=4) for launch in (0, 1) for place in ("cpu", "gpu")]
    assert sweeps_of(*both).made == Made(2, 4)
    assert sweeps_of(*both).costs(preparing_seconds=8.0) == Costs(4.0, 2.0)
    works = [work(), work()]
    pairs = [warm(of, 0, SMALL, placement=place) for place in ("cpu", "gpu") for of in works]
    assert sweeps_of(*pairs, works=works).made == Made(1, 1), "one launch, that both sides have on both"
    assert sweeps_of(*pairs, warm(works[0], 1, SMALL), works=works).made == Made(1, 1), "the last has no partner"


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


CONTRASTED = ("a", "b", "c")


def contrasted_work() -> Any:
    """Stands for what is still to be done of a run: one group, of which everything is open."""
    return SimpleNamespace(groups=["g"], cases=lambda group: list(CONTRASTED))


def rows(seconds: list[float], first: int = 0, *copies: int) -> list[list[float]]:
    return [[first + number, 0, 2, 2 * one, *copies] for number, one in enumerate(seconds)]


def keep(found: Contrasts, of: Any, launch: int, sweep: int, seconds: Callable[[str], list[float]]) -> None:
    samples = {case: rows(seconds(case), 10 * sweep) for case in CONTRASTED}
    found.keep(SimpleNamespace(work=of, launch=launch), sweep, SimpleNamespace(samples=samples))  # type: ignore[arg-type]


def noise(rng: np.random.Generator, *shifts: float, rounds: int = 10, scatter: float = 0.02) -> list[float]:
    logs = sum(shifts) + scatter * rng.standard_normal(rounds)
    return np.exp(logs).tolist()  # type: ignore[no-any-return]


def test_within_a_process_what_slows_all_cases_down_is_no_noise() -> None:
    rng, one = np.random.default_rng(0), contrasted_work()
    found = Contrasts([one])
    for launch in range(12):
        process = rng.standard_normal()
        for sweep in range(6):
            state = rng.standard_normal()
            keep(found, one, launch, sweep, lambda case, shift=process + state: noise(rng, shift))
    variances = found.variances()
    assert not found.are_by_sweep
    assert variances is not None
    assert math.sqrt(variances.between) < 0.01
    assert math.sqrt(variances.within) < 0.06


def between(state: float, process: float, launches: int = 16, sweeps: int = 40, batch: int = 100) -> Contrasts:
    """Return contrasts of two versions: each has a state of its own in a sweep, and each process has one for good."""
    rng, works = np.random.default_rng(1), (contrasted_work(), contrasted_work())
    found = Contrasts(works)
    own = process * rng.standard_normal((2, launches))
    for launch in range(launches):
        for sweep in range(sweeps):
            for place, one in enumerate(works):
                shift = own[place, launch] + state * rng.standard_normal()
                keep(found, one, launch, sweep, lambda case, shift=shift: noise(rng, shift, rounds=4))
        if launch % batch == batch - 1:
            found.end_batch()
    return found


@pytest.mark.parametrize(("state", "process"), [(0.15, 0.0), (0.15, 0.05), (0.05, 0.05)])
def test_between_processes_the_state_of_a_turn_is_noise_of_the_sweep(state: float, process: float) -> None:
    """By rounds it would look like what launches differ by, of which only more launches rid one."""
    found = between(state, process)
    assert found.are_by_sweep
    variances = found.variances()
    assert variances is not None
    assert math.sqrt(variances.within / (math.pi / 2)) == pytest.approx(math.sqrt(2 * (state**2 + 1e-4)), rel=0.15)
    assert math.sqrt(variances.between) == pytest.approx(math.sqrt(2) * process, abs=0.03)


def test_few_sweeps_tell_nothing_of_launches() -> None:
    assert between(0.15, 0.05, sweeps=LEAST_SWEEPS - 1).variances() is None
    assert between(0.15, 0.05, sweeps=LEAST_SWEEPS).variances() is not None


def test_what_earlier_batches_have_told_stays() -> None:
    """One batch has few launches, of which nobody learns how far launches differ."""
    whole, parts = between(0.05, 0.05), between(0.05, 0.05, batch=3)
    assert parts.variances() == whole.variances()


@pytest.mark.parametrize("empty_seconds", [0.0, 0.5])
def test_a_port_costs_the_same_whatever_number_of_copies_a_process_took(empty_seconds: float) -> None:
    rng, works = np.random.default_rng(3), (contrasted_work(), contrasted_work())
    found = Contrasts(works)
    for launch in range(8):
        for place, one in enumerate(works):
            many = 1 + (launch + place) % 2
            for sweep in range(10):
                costs = np.array(noise(rng, scatter=0.01))
                samples = {case: rows((empty_seconds + many * costs).tolist(), 0, many) for case in CONTRASTED}
                samples["empty"] = rows([empty_seconds] * 10, 0, 0)
                found.keep(SimpleNamespace(work=one, launch=launch), sweep, SimpleNamespace(samples=samples))  # type: ignore[arg-type]
    variances = found.variances()
    assert variances is not None
    assert math.sqrt(variances.between) < 0.01


@pytest.mark.parametrize(("copies", "counts"), [((1, 2), 1), ((4, 16), 16)])
def test_what_counts_is_the_graph_that_the_cost_is_taken_from(copies: tuple[int, int], counts: int) -> None:
    """A process finds out for itself how many copies are enough, so that a larger graph is not there in each."""
    rng, one = np.random.default_rng(2), contrasted_work()
    found = Contrasts([one])
    for launch in range(8):
        has_second = launch % 2 or counts != 1
        some = copies if has_second else copies[:1]
        samples = {
            case: [row for many in some for row in rows(noise(rng, math.log(many) * (case == "a")), 0, many)]
            for case in CONTRASTED
        }
        found.keep(SimpleNamespace(work=one, launch=launch), 0, SimpleNamespace(samples=samples))  # type: ignore[arg-type]
    variances = found.variances()
    assert variances is not None
    assert math.sqrt(variances.between) < 0.02

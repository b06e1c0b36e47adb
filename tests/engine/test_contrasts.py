"""How far launches and rounds differ, of what is compared: what cancels in a comparison counts for nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pyopbench.engine.contrasts import LEAST_SWEEPS, Contrasts

CASES = ("a", "b", "c")


def work() -> Any:
    """Stands for what is still to be done of a run: one group, of which everything is open."""
    return SimpleNamespace(groups=["g"], cases=lambda group: list(CASES))


def rows(seconds: list[float], first: int = 0, *copies: int) -> list[list[float]]:
    return [[first + number, 0, 2, 2 * one, *copies] for number, one in enumerate(seconds)]


def keep(found: Contrasts, of: Any, launch: int, sweep: int, seconds: Callable[[str], list[float]]) -> None:
    samples = {case: rows(seconds(case), 10 * sweep) for case in CASES}
    found.keep(SimpleNamespace(work=of, launch=launch), sweep, {"samples": samples})  # type: ignore[arg-type]


def noise(rng: np.random.Generator, *shifts: float, rounds: int = 10, scatter: float = 0.02) -> list[float]:
    logs = sum(shifts) + scatter * rng.standard_normal(rounds)
    return np.exp(logs).tolist()  # type: ignore[no-any-return]


def test_within_a_process_what_slows_all_cases_down_is_no_noise() -> None:
    rng, one = np.random.default_rng(0), work()
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
    rng, works = np.random.default_rng(1), (work(), work())
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
    rng, works = np.random.default_rng(3), (work(), work())
    found = Contrasts(works)
    for launch in range(8):
        for place, one in enumerate(works):
            many = 1 + (launch + place) % 2
            for sweep in range(10):
                costs = np.array(noise(rng, scatter=0.01))
                samples = {case: rows((empty_seconds + many * costs).tolist(), 0, many) for case in CASES}
                samples["empty"] = rows([empty_seconds] * 10, 0, 0)
                found.keep(SimpleNamespace(work=one, launch=launch), sweep, {"samples": samples})  # type: ignore[arg-type]
    variances = found.variances()
    assert variances is not None
    assert math.sqrt(variances.between) < 0.01


@pytest.mark.parametrize(("copies", "counts"), [((1, 2), 1), ((4, 16), 16)])
def test_what_counts_is_the_graph_that_the_cost_is_taken_from(copies: tuple[int, int], counts: int) -> None:
    """A process finds out for itself how many copies are enough, so that a larger graph is not there in each."""
    rng, one = np.random.default_rng(2), work()
    found = Contrasts([one])
    for launch in range(8):
        has_second = launch % 2 or counts != 1
        some = copies if has_second else copies[:1]
        samples = {
            case: [row for many in some for row in rows(noise(rng, math.log(many) * (case == "a")), 0, many)]
            for case in CASES
        }
        found.keep(SimpleNamespace(work=one, launch=launch), 0, {"samples": samples})  # type: ignore[arg-type]
    variances = found.variances()
    assert variances is not None
    assert math.sqrt(variances.between) < 0.02

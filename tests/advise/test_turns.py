"""A program before and after a change: what it saves, and what it computes otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pyopbench.advise.program import Run
from pyopbench.advise.report import start_text
from pyopbench.advise.trial import LEAST_TURNS, MOST_TURNS, is_enough
from pyopbench.advise.turns import Realised, differences, estimate_saving, seconds_of
from pyopbench.model.case import MINIMUM_EFFECT


def run_of(step: float, *, start: float = 3.0, elements: int = 50, **changes: object) -> Run:
    samples = [(1.0, 0.0), *((start + step * n, float(n)) for n in range(1, elements + 1))]
    run = Run(0, 10.0, ["loss 0.5", "12 ms/step"], [], samples, [{"batch loss": 0.5}, {"batch loss": 0.4}])
    return replace(run, **changes)  # type: ignore[arg-type]


def test_a_step_is_timed_after_the_first_fifth_whatever_the_start_took() -> None:
    assert seconds_of(run_of(0.02, start=30.0), 50) == pytest.approx(0.02)
    found = estimate_saving([run_of(0.02), run_of(0.021), run_of(0.019)], [run_of(0.01, start=5.0) for _ in range(3)])
    assert (found.unit, found.runs) == ("step", 3)
    assert found.saved == pytest.approx(0.5, abs=0.01)
    assert found.is_faster
    assert not found.is_slower
    assert found.start_seconds == pytest.approx(2.0 + 10 * (0.01 - 0.02))


def test_a_longer_start_is_made_up_for_after_some_steps() -> None:
    before = [run_of(0.02, elements=100) for _ in range(3)]
    found = estimate_saving(before, [run_of(0.01, start=8.0, elements=100) for _ in range(3)])
    assert found.start_seconds > 4
    assert int(start_text(found).split()[-2]) == pytest.approx(found.start_seconds / 0.01, abs=2)
    assert start_text(estimate_saving(before, [run_of(0.01, start=1.0, elements=100) for _ in range(3)])) == ""
    whole = [Run(0, seconds, samples=[(2.0, 0.0)]) for seconds in (10.0, 10.1, 9.9)]
    assert start_text(estimate_saving(whole, whole)) == ""


def test_a_program_without_steps_is_timed_as_a_whole_from_the_import_on() -> None:
    before = [Run(0, seconds, samples=[(2.0, 0.0)]) for seconds in (10.0, 10.1, 9.9)]
    after = [Run(0, seconds, samples=[(2.0, 0.0)]) for seconds in (6.0, 6.1, 5.9)]
    found = estimate_saving(before, after)
    assert found.unit == "run"
    assert found.before_seconds == pytest.approx(8.0)
    assert found.saved == pytest.approx(0.5, abs=0.01)


def test_an_a_a_of_noisy_runs_is_rarely_called_different() -> None:
    """95% intervals of three runs each: called different in at most 5% of comparisons, here of 500."""
    rng = np.random.default_rng(0)

    def side() -> Sequence[Run]:
        return [run_of(0.02 * float(np.exp(rng.normal(0, 0.05)))) for _ in range(3)]

    found = [estimate_saving(side(), side()) for _ in range(500)]
    assert sum(one.is_faster or one.is_slower for one in found) <= 25


def of_losses(rng: np.random.Generator, *, factor: float = 1.0, spread: float = 0.05, stuck: bool = False) -> Run:
    """Return a run with its own random numbers: 20 batches that learn or do not, and the last loss printed."""
    path = np.full(20, 2.3) if stuck else np.linspace(2.3, 1.0, 20)
    losses = factor * path * np.exp(rng.normal(0, spread, 20))
    right = rng.binomial(32, np.full(20, 0.1) if stuck else np.linspace(0.1, 0.7, 20)) / 32
    logs = [{"batch loss": one, "batch accuracy": other} for one, other in zip(losses, right, strict=True)]
    weights = [[0.0, factor * float(one)] for one in (abs(rng.normal(0, 0.01)), rng.normal(0.5, 0.02))]
    return run_of(0.02, losses=logs, lines=[f"loss {losses[-1]:.4f}"], weights=weights)


@pytest.mark.nightly
@pytest.mark.parametrize(("spread", "runs"), [(0.01, 2), (0.05, 3), (0.2, 3), (0.2, 6)])
def test_runs_with_their_own_random_numbers_are_rarely_called_different(spread: float, runs: int) -> None:
    """In at most 3% of 200 comparisons."""
    rng = np.random.default_rng(0)
    sides = [[[of_losses(rng, spread=spread) for _ in range(runs)] for _ in range(2)] for _ in range(200)]
    assert sum(bool(differences(before, after, is_random=True)) for before, after in sides) <= 6


@pytest.mark.parametrize(
    ("changes", "spread"),
    [({"stuck": True}, 0.05), ({"stuck": True}, 0.2), ({"factor": 10.0}, 0.15), ({"factor": np.nan}, 0.05)],
)
def test_a_training_that_is_broken_is_found_among_random_numbers(changes: dict[str, Any], spread: float) -> None:
    """In at least 95 of 100 comparisons of three runs each."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(100):
        before = [of_losses(rng, spread=spread) for _ in range(3)]
        found += bool(differences(before, [of_losses(rng, spread=spread, **changes) for _ in range(3)], is_random=True))
    assert found >= 95


def test_a_number_that_is_no_longer_printed_is_a_difference() -> None:
    rng = np.random.default_rng(0)
    before, after = ([of_losses(rng) for _ in range(3)] for _ in range(2))
    assert differences(before, [replace(run, lines=["done"]) for run in after], is_random=True)


def taken_turns(rng: np.random.Generator, factor: float, spread: float, drift: float) -> Realised:
    """Return what runs show that end as soon as there are enough, on a machine whose speed wanders from run to run."""
    speeds = np.exp(np.cumsum(rng.normal(0, drift, 2 * MOST_TURNS)) + rng.normal(0, spread, 2 * MOST_TURNS))
    before, after = list[Run](), list[Run]()
    for number in range(MOST_TURNS):
        pair = speeds[2 * number : 2 * number + 2][:: 1 if number % 2 == 0 else -1]
        before.append(run_of(0.02 * float(pair[0])))
        after.append(run_of(0.02 * factor * float(pair[1])))
        if len(after) >= LEAST_TURNS and is_enough(before, after, MINIMUM_EFFECT):
            break
    return estimate_saving(before, after)


@pytest.mark.nightly
@pytest.mark.parametrize(("spread", "drift"), [(0.05, 0.0), (0.03, 0.05)])
def test_a_port_that_changes_nothing_is_rarely_kept_however_often_one_looks(spread: float, drift: float) -> None:
    """It is kept if it is shown to be faster, at an interim analysis or at the end: at most 5% of 400.

    Ending the turns early leaves the interval nearly what it says it is: it contains 0 in 93% and more.
    """
    rng = np.random.default_rng(1)
    found = [taken_turns(rng, 1.0, spread, drift) for _ in range(400)]
    assert sum(one.is_faster for one in found) <= 20
    assert sum(not one.is_faster and not one.is_slower for one in found) >= 372


@pytest.mark.nightly
def test_a_saving_of_a_tenth_is_found_though_the_speed_of_the_machine_wanders() -> None:
    """In at least 90 of 100 programs."""
    rng = np.random.default_rng(1)
    found = [taken_turns(rng, 0.9, 0.03, 0.05) for _ in range(100)]
    assert sum(one.is_faster for one in found) >= 90


def test_equal_runs_do_not_differ() -> None:
    assert differences([run_of(0.02), run_of(0.03)], [run_of(0.01)]) == []


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"code": 1}, "exit code"),
        ({"losses": [{"batch loss": 0.5}, {"batch loss": 0.401}]}, "loss"),
        ({"losses": [{"batch loss": 0.5}, {"batch loss": float("nan")}]}, "loss"),
        ({"weights": [[0.1, 0.6]]}, "weights"),
        ({"lines": ["loss 0.53", "12 ms/step"]}, "output"),
        ({"lines": ["lost 0.5", "12 ms/step"]}, "output"),
        ({"lines": ["loss 0.5"]}, "output"),
        ({"ended": "seconds", "samples": [(1.0, 0.0)]}, "steps in the time of a run"),
    ],
)
def test_a_planted_difference_is_found(changes: dict[str, object], what: str) -> None:
    before = [run_of(0.02, weights=[[0.1, 0.5]]) for _ in range(2)]
    after = [run_of(0.02, **{"weights": [[0.1, 0.5]], **changes})]
    (found,) = differences(before, after)
    assert found.startswith(what)


@pytest.mark.parametrize(
    ("changes"),
    [
        {"lines": ["loss 0.5", "34 ms/step"]},
        {"lines": ["\r1/2 loss 0.9\x08\x08\rloss 0.5", "9 ms/step"]},
        {"losses": [{"batch loss": 0.50001}, {"batch loss": 0.40002}]},
    ],
)
def test_durations_progress_and_rounding_are_no_difference(changes: dict[str, object]) -> None:
    assert differences([run_of(0.02), run_of(0.02)], [run_of(0.02, **changes)]) == []


def test_what_differs_between_runs_of_the_same_program_is_allowed_to() -> None:
    before = [run_of(0.02, losses=[{"batch loss": value}]) for value in (0.5, 0.6)]
    assert differences(before, [run_of(0.02, losses=[{"batch loss": 0.7}])]) == []
    assert differences(before, [run_of(0.02, losses=[{"batch loss": 1.7}])]) != []


@pytest.mark.parametrize(("size", "is_other"), [(6.0e-5, False), (1.0e-3, False), (0.3, True)])
def test_a_weight_that_is_hardly_there_may_differ_by_more_than_its_rounding(size: float, is_other: bool) -> None:
    before = [run_of(0.02, weights=[[0.0, 0.5], [0.0, size]]) for _ in range(2)]
    after = [run_of(0.02, weights=[[0.0, 0.5], [0.0, 1.02 * size]])]
    assert bool(differences(before, after)) == is_other


def test_weights_and_the_number_of_lines_do_not_count_where_a_run_was_ended_early() -> None:
    before = [run_of(0.02, ended="steps", weights=[[0.1, 0.5]]) for _ in range(2)]
    after = [run_of(0.02, ended="steps", weights=[[0.4, 0.9]], lines=["loss 0.5"])]
    assert differences(before, after) == []

"""The search for steps: which steps it finds, how often it is wrong, and that drift between blocks cancels."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pyopbench.stats.step_search import LEAST_LAUNCHES, MOST_GAPS, STEP, StepSearch, probable_steps

LEAST = math.log1p(0.03)


def searched(seed: int, planted, spread: float, drift: float = 0.02, step: float = STEP, commits: int = 30):
    """Return a finished search over commits, in which the planted commits are slower."""
    rng = np.random.default_rng(seed)
    levels = math.log1p(step) * np.searchsorted(sorted(planted), np.arange(commits + 1), "right")
    search = StepSearch({*range(0, commits, 8), commits}, LEAST)
    for _ in range(200):
        wanted = search.next_block()
        if not wanted:
            return search
        for _ in range(2):
            shift = drift * rng.standard_normal()
            search.blocks.append([(one, float(levels[one] + shift + spread * rng.standard_normal())) for one in wanted])
    raise AssertionError("the search does not end")


@pytest.mark.parametrize("planted", [(), (1,), (30,), (5, 14, 25), (13, 14, 15)], ids=str)
def test_planted_commits_are_named_wherever_they_are(planted):
    search = searched(1, planted, 0.01)
    assert [step.after for step in search.found] == list(planted)
    assert search.open == []
    assert [step.size for step in search.found] == pytest.approx([math.log1p(STEP)] * len(planted), abs=0.03)


@pytest.mark.parametrize("factor", [1.5, 3.0, 20.0])
def test_steps_much_larger_than_expected_are_found(factor):
    assert [step.after for step in searched(4, (7, 20), 0.02, step=factor - 1).found] == [7, 20]


def test_a_large_step_does_not_hide_a_small_one():
    rng = np.random.default_rng(5)
    levels = np.log(np.where(np.arange(17) < 5, 1.0, np.where(np.arange(17) < 12, 2.0, 2.2)))
    search = StepSearch({0, 8, 16}, LEAST)
    while wanted := search.next_block():
        search.blocks.append([(one, float(levels[one] + 0.01 * rng.standard_normal())) for one in wanted])
    assert [step.after for step in search.found] == [5, 12]


def test_a_faster_commit_is_found_too():
    assert [(step.after, step.size < 0) for step in searched(2, (11,), 0.01, step=-STEP).found] == [(11, True)]


def test_names_are_rarely_wrong_and_rarely_missing_under_drift():
    """Counted on noise as large as on a quiet machine; benchmarks/outside/bisection.py has the table."""
    wrong = missed = 0
    for seed in range(40):
        planted = {int(one) + 1 for one in np.random.default_rng([seed, 1]).choice(30, 3, replace=False)}
        found = {step.after for step in searched(seed, planted, 0.03).found}
        wrong, missed = wrong + bool(found - planted), missed + len(planted - found)
    assert wrong <= 2
    assert missed <= 3


def test_nothing_is_named_if_nothing_was_planted():
    assert sum(bool(searched(seed, (), 0.03).found) for seed in range(40)) <= 1


def test_drift_between_blocks_changes_no_probability():
    rng = np.random.default_rng(3)
    blocks = [[(place, 0.02 * rng.standard_normal() + 0.1 * (place > 8)) for place in (0, 8, 16)] for _ in range(3)]
    shifted = [
        [(place, value + shift) for place, value in block] for block, shift in zip(blocks, (0, 3, -5), strict=True)
    ]
    before, after = (probable_steps(some, [0, 8, 16], (), 0.1) for some in (blocks, shifted))
    for one, other in zip(before, after, strict=True):
        assert (one.probability, one.size) == pytest.approx((other.probability, other.size))


def test_a_step_between_blocks_without_a_common_commit_does_not_count():
    """Only launches within a block are compared: here, drift between blocks would look the same as a step."""
    blocks = [[(0, 0.0), (8, 0.0)]] * 3 + [[(16, 0.5), (24, 0.5)]] * 3
    first, between, last = probable_steps(blocks, [0, 8, 16, 24], (), 0.1)
    assert max(first.probability, last.probability) < 0.05
    assert between.probability < 0.5


def test_a_single_launch_does_not_name_a_commit():
    search = StepSearch({0, 1, 2}, LEAST)
    search.blocks.append([(0, 0.0), (1, 0.0), (2, 1.0)])
    assert search.next_block()
    for _ in range(LEAST_LAUNCHES):
        search.blocks.append([(0, 0.0), (1, 0.0), (2, 1.0)])
    assert search.next_block() == []
    assert [step.after for step in search.found] == [2]


def test_small_steps_are_not_named():
    search = StepSearch({0, 1}, LEAST, sought=0.02)
    search.blocks += [[(0, 0.0), (1, 0.02 + 1e-4 * number)] for number in range(60)]
    assert search.next_block() == []
    assert search.found == []


def test_many_gaps_can_be_searched():
    places = list(range(MOST_GAPS + 5))
    block = [(place, 0.1 * (place >= 7)) for place in places]
    steps = probable_steps([block] * 3, places, (), 0.1)
    assert [step.after for step in steps if step.probability > 0.9] == [7]
    assert [(step.before, step.after) for step in steps] == list(itertools.pairwise(places))

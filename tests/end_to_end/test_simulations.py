"""What the statistics promise, held against made-up launches: coverage, false alarms with looks, and slowdowns found.

docs/statistics.md has the figures of longer simulations, which `python -m tests.simulate` makes.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from pyopbench.stats.estimate import Estimate, moderated
from pyopbench.stats.looks import ONE_LOOK, Looks, look_schedule
from simulate import (
    COMPARISONS,
    Noise,
    Setting,
    alarms,
    false_ones,
    heavy,
    looked_at,
    noisy,
    normal,
    power,
    skewed,
    spoilt,
    unlike,
)

pytestmark = pytest.mark.long

ROWS = 3000
LEVEL = 0.95


def rows(noise: Noise, launches: int, seed: int) -> list[Estimate]:
    draws = noise(np.random.default_rng(seed), (ROWS, launches))
    return [Estimate.of(row) for row in draws]


def coverage(estimates: list[Estimate]) -> float:
    ends = np.array([estimate.interval(LEVEL) for estimate in estimates])
    return float(np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0)))


def error(share: float, trials: int) -> float:
    """Three standard errors of a simulated share."""
    return 3 * math.sqrt(share * (1 - share) / trials)


@pytest.mark.parametrize("noise", [normal, heavy, spoilt, skewed])
@pytest.mark.parametrize("launches", [3, 5, 6, 8, 24])
def test_intervals_cover_at_their_level_or_above(noise: Noise, launches: int) -> None:
    assert coverage(rows(noise, launches, launches)) >= LEVEL - error(LEVEL, ROWS)


@pytest.mark.parametrize("launches", [3, 6, 24])
def test_intervals_of_normal_launches_are_no_wider_than_their_level_asks(launches: int) -> None:
    assert coverage(rows(normal, launches, launches)) <= LEVEL + error(LEVEL, ROWS) + 0.01


@pytest.mark.parametrize("noise", [normal, heavy, spoilt, skewed])
@pytest.mark.parametrize("launches", [3, 8])
def test_moderated_intervals_cover_too(noise: Noise, launches: int) -> None:
    """In reports of 200, whose spreads differ."""
    found = []
    for seed in range(ROWS // COMPARISONS):
        rng = np.random.default_rng(seed)
        draws = noise(rng, (COMPARISONS, launches)) * unlike(0.5)(rng)[:, None]
        found += moderated([Estimate.of(row) for row in draws])
    assert coverage(found) >= LEVEL - error(LEVEL, ROWS)


def test_small_p_values_come_no_oftener_than_they_say() -> None:
    """A thousandth of 60,000 trimmed means of 8 launches; with n - 1 - 2 per pair degrees it would be 1.4 of it."""
    draws = np.random.default_rng(8).standard_normal((60_000, 8))
    small = sum(Estimate.of(row).effect_p(0.0) <= 0.001 for row in draws)
    assert small <= 60 + 3 * math.sqrt(60)


def first_resolved(draws: np.ndarray, looks: tuple[int, ...], spending: Looks) -> float:
    """Return the share of rows that some look calls different from 0 at 5%."""
    called = [any(spending.spent(Estimate.of(row[:n]).effect_p(0.0)) <= 0.05 for n in looks) for row in draws]
    return float(np.mean(called))


def test_five_looks_share_the_error_and_would_exceed_it_if_they_did_not() -> None:
    looks = look_schedule(4, 24)
    draws = np.random.default_rng(1).standard_normal((2000, looks[-1]))
    assert first_resolved(draws, looks, Looks(len(looks))) <= 0.05 + error(0.05, len(draws))
    assert first_resolved(draws, looks, ONE_LOOK) > 0.1


def test_reports_with_looks_and_stopping_hold_false_verdicts_rarely() -> None:
    """Reports of 200 comparisons, each measured until it is resolved; noise, spreads and ratios of the harder kinds."""
    kinds = [
        Setting(minimum_effect=0.0),
        Setting(minimum_effect=0.0, noise=spoilt),
        Setting(minimum_effect=0.0, factors=unlike(0.5), noise=heavy),
        Setting(1.03, factors=noisy(1, 5.0)),
        Setting(1.03, noise=skewed, looks=look_schedule(4, 24)),
    ]
    count = 8
    found = [alarms(setting, count, seed) for seed, setting in enumerate(kinds)]
    trials = count * len(kinds)
    assert np.mean([one.families for one in found]) <= 0.05 + error(0.05, trials)
    assert all(one.verdicts <= 0.01 for one in found)


@pytest.mark.parametrize(("ratio", "spread", "share", "launches"), [(1.10, 0.01, 0.99, 4.0), (1.10, 0.02, 0.8, 8.0)])
def test_slowdowns_are_found(ratio: float, spread: float, share: float, launches: float) -> None:
    """Among 200 comparisons, with looks after 3, 5 and 8 launches."""
    found = power(Setting(ratio, spread), 5, 3)
    assert found.found >= share
    assert found.launches <= launches


def test_a_slowdown_of_a_twentieth_is_found_by_a_full_run() -> None:
    assert power(Setting(1.05, 0.01, looks=look_schedule(4, 24)), 3, 4).found >= 0.95


@pytest.mark.parametrize("ratio", [1.0, 1.10])
def test_one_launch_that_went_wrong_for_all_neither_makes_verdicts_nor_keeps_from_them(ratio: float) -> None:
    """The second of eight launches is off by 19% in every comparison: at 8 it is trimmed, and all are resolved."""
    setting = Setting(ratio, 0.004)
    logs = math.log(ratio) + setting.spread * np.random.default_rng(5).standard_normal((COMPARISONS, 8))
    logs[:, 1] += 0.19
    verdicts = looked_at(logs, setting)
    assert false_ones(verdicts, ratio, setting.minimum_effect) == 0
    assert np.mean([verdict.outcome != "unresolved" for verdict in verdicts]) > 0.9

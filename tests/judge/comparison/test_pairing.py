"""Which spread of interleaved launches is usual: what it takes to tell, over cases and over comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pairs
from pyopbench.judge.comparison.pairing import (
    LEAST_CASES,
    LEAST_LAUNCHES,
    pair_estimates,
    sweep_logs,
    usual_among,
    usual_over,
)
from pyopbench.judge.comparison.select import read_sides
from pyopbench.stats.estimate import LEAST_COMPARISONS, UNKNOWN, Estimate
from revision_runs import write_revisions


def estimates(cases: int, launches: int) -> list[Estimate]:
    rng = np.random.default_rng(1)
    return [Estimate.of(rng.standard_normal(launches)) for _ in range(cases)]


@pytest.mark.parametrize(
    ("cases", "launches", "is_known"),
    [
        (LEAST_CASES, LEAST_LAUNCHES, True),
        (LEAST_CASES, LEAST_LAUNCHES - 1, False),
        (LEAST_CASES - 1, LEAST_LAUNCHES, False),
        (LEAST_COMPARISONS, 2, True),
    ],
)
def test_few_cases_show_what_is_usual_if_they_have_more_launches(cases: int, launches: int, is_known: bool) -> None:
    assert (usual_among(estimates(cases, launches)) != UNKNOWN) == is_known
    assert (usual_among([*estimates(cases, launches), Estimate.of([1.0])]) != UNKNOWN) == is_known


def sampled(rng: np.random.Generator, states: Sequence[float], factor: float) -> pd.DataFrame:
    """Return samples of a launch, with as many rounds in each sweep as come: four or fewer."""
    rows = []
    for sweep, state in enumerate(states):
        for number in range(int(rng.integers(2, 5))):
            seconds = factor * state * float(np.exp(0.01 * rng.standard_normal()))
            rows.append({"sweep": sweep, "round": 10 * sweep + number, "seconds": seconds})
    head = {"case": "k", "run": "r", "launch": 3, "block": 3, "mode": "call"}
    return pd.DataFrame(rows).assign(**head, calls=1, copies=1, floor_seconds=np.nan)


def test_what_a_core_does_for_the_time_of_a_sweep_is_common_to_both_sides() -> None:
    """In half of them it is 1.65 times as slow: medians of whole launches lie on either side, as it happens."""
    rng = np.random.default_rng(3)
    off, by_launch = [], []
    for _ in range(40):
        states = np.where(rng.random(61) < 0.5, 1.0, 1.65)
        first, second = (sampled(rng, states, factor) for factor in (1.0, 1.05))
        (value,) = sweep_logs(first, second)["value"]
        off.append(value - np.log(1.05))
        by_launch.append(np.log(second["seconds"].median() / first["seconds"].median()) - np.log(1.05))
    assert np.abs(off).max() < 0.01
    assert np.std(by_launch) > 10 * np.std(off)


def test_a_sweep_that_one_side_lacks_does_not_count() -> None:
    rng = np.random.default_rng(4)
    first, second = sampled(rng, [1.0] * 5, 1.0), sampled(rng, [1.0] * 3 + [1.65] * 2, 1.0)
    (value,) = sweep_logs(first[first["sweep"] < 3], second)["value"]
    assert value == pytest.approx(0.0, abs=0.02)
    assert sweep_logs(first[first["sweep"] > 3], second[second["sweep"] < 3]).empty


def test_several_comparisons_of_one_run_share_what_is_usual(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, *[{}] * 7, keys=pairs.cases()[:2], launches=2)
    sides = [read_sides([str(folder), "r0", f"r{place}"], "commit") for place in range(1, 7)]
    assert [len(pair_estimates(one)) for one in sides] == [2] * 6
    assert usual_over(sides) is not None
    assert usual_over(sides[:1]) is None, "one comparison tells what it tells by itself"
    assert usual_over(sides[:2]) is None, "too few of two launches"

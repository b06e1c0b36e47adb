"""Which spread of interleaved launches is usual: what it takes to tell, over cases and over comparisons."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pairs
from pyopbench.compare.pairing import LEAST_CASES, LEAST_LAUNCHES, pair_estimates, usual_among, usual_over
from pyopbench.compare.select import read_sides
from pyopbench.stats.estimate import Estimate
from pyopbench.stats.spread import LEAST_COMPARISONS, UNKNOWN
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


def test_several_comparisons_of_one_run_share_what_is_usual(tmp_path: Path) -> None:
    folder = write_revisions(tmp_path, *[{}] * 7, keys=pairs.cases()[:2], launches=2)
    sides = [read_sides([str(folder), "r0", f"r{place}"], "commit") for place in range(1, 7)]
    assert [len(pair_estimates(one)) for one in sides] == [2] * 6
    assert usual_over(sides) is not None
    assert usual_over(sides[:1]) is None, "one comparison tells what it tells by itself"
    assert usual_over(sides[:2]) is None, "too few of two launches"

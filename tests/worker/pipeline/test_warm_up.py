"""The end of the warm-up is where the rest is steady."""

from __future__ import annotations

import numpy as np
import pytest

from pyopbench.worker.pipeline.measure import warm_up_of


def series(slow: int, n: int = 24, seed: int = 0) -> list[float]:
    """Return seconds of chunks of which the first take three times as long, with 2% of noise."""
    rng = np.random.default_rng(seed)
    return [float((3.0 if place < slow else 1.0) * np.exp(rng.normal(0, 0.02))) for place in range(n)]


@pytest.mark.parametrize("slow", [1, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_slow_chunks_at_the_beginning_are_left_out(slow: int, seed: int) -> None:
    found = warm_up_of(series(slow, seed=seed))
    assert found is not None
    assert slow <= found <= 12


def test_a_steady_series_keeps_all_or_nearly_all() -> None:
    assert warm_up_of([1.0] * 12) == 0
    assert all((warm_up_of(series(0, seed=seed)) or 0) <= 12 for seed in range(20))


def test_a_warm_up_that_has_not_ended_is_none() -> None:
    assert warm_up_of(series(20)) is None
    assert warm_up_of([1.0]) is None
    assert warm_up_of([float(2**-place) for place in range(12)]) is None


def test_one_outlier_late_is_not_the_end_of_a_warm_up() -> None:
    found = series(0)
    found[-2] = 100.0
    assert (warm_up_of(found) or 0) <= 12

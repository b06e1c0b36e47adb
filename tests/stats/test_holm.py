"""Adjusted probabilities, by hand and by the definition of the closed test."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyopbench.stats.holm import holm


def test_holm_by_hand() -> None:
    """4 * 0.005, 3 * 0.01, 2 * 0.03, then 0.04 held up to 0.06 by the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_holm_is_the_closed_test_of_bonferroni(p: list[float]) -> None:
    """By definition: the largest Bonferroni p of any set of hypotheses that the one belongs to."""
    indices = range(len(p))
    subsets = [set(chosen) for size in indices for chosen in itertools.combinations(indices, size + 1)]
    expected = [max(min(1, len(s) * min(p[j] for j in s)) for s in subsets if i in s) for i in indices]
    assert holm(p) == pytest.approx(expected)

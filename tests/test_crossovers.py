"""Crossovers at sizes that are known beforehand."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from pyopbench.crossovers import crossovers
from pyopbench.model import Crossover

NAN = math.nan


def found(minimum_effect: float = 0.03, **curves: list[float]) -> list[Crossover]:
    sizes = [10 ** (place + 1) for place in range(len(next(iter(curves.values()))))]
    return list(crossovers(pd.DataFrame(curves, index=sizes), minimum_effect))


def test_power_laws_cross_where_algebra_says() -> None:
    """`1e-6 n` and `1e-4 n^(1/2)` are equal at n = 1e4, which interpolation in the logs finds from any sizes."""
    sizes = [300, 2_000, 70_000, 1_000_000]
    curves = pd.DataFrame({"a": [1e-6 * n for n in sizes], "b": [1e-4 * math.sqrt(n) for n in sizes]}, index=sizes)
    (crossover,) = crossovers(curves, 0.03)
    assert (crossover.before, crossover.after) == ("a", "b")
    assert crossover.size == pytest.approx(1e4)


def test_a_change_within_the_minimum_effect_at_either_end_is_none() -> None:
    assert found(a=[1.0, 1.02], b=[1.5, 1.0]) == []
    assert found(a=[1.0, 1.5], b=[1.02, 1.0]) == []
    assert len(found(a=[1.0, 1.5], b=[1.5, 1.0])) == 1
    assert len(found(0.01, a=[1.0, 1.02], b=[1.5, 1.0])) == 1


def test_a_tie_in_between_does_not_hide_the_change() -> None:
    """Led by a by half at 10, by b by 1% at 100 and by half at 1000: the zero lies between 10 and 100, near 100."""
    (crossover,) = found(a=[1.0, 1.01, 1.5], b=[1.5, 1.0, 1.0])
    gap = math.log(1.5) / (math.log(1.5) + math.log(1.01))
    assert crossover.size == pytest.approx(10 ** (1 + gap))


def test_the_fastest_can_change_more_than_once() -> None:
    names = [(one.before, one.after) for one in found(a=[1, 2, 2, 1], b=[2, 1, 2, 2], c=[3, 3, 1, 3])]
    assert names == [("a", "b"), ("b", "c"), ("c", "a")]


def test_one_that_takes_over_because_the_other_is_missing_has_not_crossed_it() -> None:
    assert found(a=[1.0, NAN, NAN], b=[2.0, 2.0, 2.0]) == []
    assert found(a=[NAN, 1.0, 1.0], b=[2.0, 2.0, 2.0]) == []


def test_a_size_without_a_number_in_between_is_bridged() -> None:
    (crossover,) = found(a=[1.0, NAN, 4.0], b=[2.0, NAN, 2.0])
    assert crossover.size == pytest.approx(100)


def test_nothing_to_cross() -> None:
    assert found(a=[1.0, 2.0]) == []
    assert crossovers(pd.DataFrame(), 0.03) == ()

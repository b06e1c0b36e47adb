"""Crossovers at sizes that are known beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from pyopbench.judge.candidates import Candidate
from pyopbench.judge.choice import Rules
from pyopbench.judge.crossovers import LogRatioCurve, crossovers, size_trend_of
from pyopbench.judge.decision import Crossover, SizeTrend
from pyopbench.stats.estimate import Estimate

NAN = math.nan
RULES = Rules(0.03)
EVEN = (-1.0, 0.0, 1.0)
"""Three launches around a mean: their deviation is that of a unit, and t(0.975, 2) is 4.303."""


def found(minimum_effect: float = 0.03, **curves: list[float]) -> list[Crossover]:
    sizes = [10 ** (place + 1) for place in range(len(next(iter(curves.values()))))]
    return list(crossovers(pd.DataFrame(curves, index=sizes), {}, Rules(minimum_effect)))


def candidate(logs: Mapping[int, Sequence[float]], label: str = "native") -> Candidate:
    return Candidate(label, "port", 3, pd.DataFrame(dict(logs)))


def trend(logs: Mapping[int, Sequence[float]], rules: Rules = RULES) -> SizeTrend:
    return size_trend_of(candidate(logs), "today", rules)


def around(mean: float, spread: float) -> list[float]:
    return [mean + spread * value for value in EVEN]


def test_power_laws_cross_where_algebra_says() -> None:
    """`1e-6 n` and `1e-4 n^(1/2)` are equal at n = 1e4, which interpolation in the logs finds from any sizes."""
    sizes = [300, 2_000, 70_000, 1_000_000]
    curves = pd.DataFrame({"a": [1e-6 * n for n in sizes], "b": [1e-4 * math.sqrt(n) for n in sizes]}, index=sizes)
    (crossover,) = crossovers(curves, {}, RULES)
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
    assert crossovers(pd.DataFrame(), {}, RULES) == ()


# Candidates against the callback of today


def test_a_crossover_has_the_sizes_at_which_the_band_holds_zero() -> None:
    """The launches' lines are parallel: their band is t s / sqrt(3) wide all along, and as wide on the size axis."""
    made = trend({10: around(1.0, 0.02), 1000: around(-1.0, 0.02)})
    (crossover,) = made.crossovers
    half = 4.302653 * 0.02 / math.sqrt(3)
    assert (made.answer, made.sizes, made.clear) == ("crosses", (10, 1000), (10, 1000))
    assert (crossover.before, crossover.after) == ("today", "native")
    assert crossover.size == pytest.approx(100)
    # One unit of the log ratio is one decade of the size.
    assert crossover.low == pytest.approx(100 * 10**-half, rel=1e-4)
    assert crossover.high == pytest.approx(100 * 10**half, rel=1e-4)


def test_the_one_that_is_faster_at_small_sizes_comes_first() -> None:
    (crossover,) = trend({10: around(-1.0, 0.02), 1000: around(1.0, 0.02)}).crossovers
    assert (crossover.before, crossover.after) == ("native", "today")


def test_two_crossovers() -> None:
    made = trend({10: around(0.5, 0.01), 1000: around(-0.5, 0.01), 100_000: around(0.5, 0.01)})
    assert [(one.before, one.after) for one in made.crossovers] == [("today", "native"), ("native", "today")]
    assert [one.size for one in made.crossovers] == pytest.approx([100, 10_000])
    for one in made.crossovers:
        assert one.low is not None
        assert one.high is not None
        assert one.low < one.size < one.high


@pytest.mark.parametrize(("mean", "answer"), [(-0.5, "faster"), (0.5, "slower"), (0.0, "unclear"), (0.02, "unclear")])
def test_none_in_range_is_an_answer(mean: float, answer: str) -> None:
    """A difference below the minimum effect is no clear one, however sure it is."""
    made = trend({10: around(mean, 0.001), 1000: around(mean, 0.001)})
    assert (made.answer, made.crossovers) == (answer, ())
    assert made.clear == ((10, 1000) if answer != "unclear" else ())


def test_an_end_beyond_which_no_size_is_clear_is_open() -> None:
    made = trend({10: around(0.1, 0.2), 1000: around(-1.0, 0.02)})
    (crossover,) = made.crossovers
    assert (made.answer, made.clear) == ("faster", (1000,))
    assert crossover.low is None
    assert crossover.high is not None
    assert 10 < crossover.size < crossover.high < 1000
    (mirrored,) = trend({10: around(-1.0, 0.02), 1000: around(0.1, 0.2)}).crossovers
    assert mirrored.high is None
    assert mirrored.low == pytest.approx(10 * 1000 / crossover.high, rel=1e-4)


def test_what_is_not_clear_in_between_is_no_crossover() -> None:
    made = trend({10: around(-1.0, 0.02), 100: around(0.1, 0.2), 1000: around(-1.0, 0.02)})
    assert (made.answer, made.clear, made.crossovers) == ("faster", (10, 1000), ())


def test_one_launch_makes_nothing_clear() -> None:
    assert trend({10: [1.0], 1000: [-1.0]}) == SizeTrend("native", "unclear", (10, 1000), ())


def test_between_two_sizes_a_launch_needs_both() -> None:
    """Launches that were made for one size only have no line to the next."""
    line = LogRatioCurve(pd.DataFrame({10: [1.0, 2.0, 3.0, 9.0], 1000: [3.0, 4.0, 5.0, NAN]}))
    assert line.at(10).n == 4
    assert (line.at(100).n, line.at(100).mean) == (3, pytest.approx(3.0))


def test_leaders_have_intervals_paired_by_launch() -> None:
    """What both have in common in a launch cancels: each varies by 0.5, their difference by 0.02 only."""
    common = np.array([-0.5, 0.0, 0.5])
    first = pd.DataFrame({10: -1.0 + common, 1000: common})
    second = pd.DataFrame({10: np.array(around(0.0, 0.02)) + common, 1000: np.array(around(-1.0, 0.02)) + common})
    curves = pd.DataFrame({"a": [1e-3, 1e-2], "b": [1e-3 * math.e, 1e-2 / math.e]}, index=[10, 1000])
    (crossover,) = crossovers(curves, {"a": first, "b": second}, RULES)
    half = 4.302653 * 0.02 / math.sqrt(3)
    assert crossover.size == pytest.approx(100)
    assert crossover.low == pytest.approx(100 * 10**-half, rel=1e-4)
    assert crossover.high == pytest.approx(100 * 10**half, rel=1e-4)


def test_a_leader_and_the_baseline_have_an_interval_too() -> None:
    """The ratio of the baseline to itself is 1, so that the band is that of the other."""
    curves = pd.DataFrame({"a": [1e-3 * math.e, 1e-2 / math.e], "today": [1e-3, 1e-2]}, index=[10, 1000])
    logs = pd.DataFrame({10: around(1.0, 0.02), 1000: around(-1.0, 0.02)})
    (crossover,) = crossovers(curves, {"a": logs, "today": 0.0}, RULES)
    (same,) = size_trend_of(Candidate("a", "port", 3, logs), "today", RULES).crossovers
    assert (crossover.low, crossover.high) == pytest.approx((same.low, same.high), rel=1e-6)


def test_intervals_cover_the_true_crossover() -> None:
    """Of 400 made-up candidates that truly cross at 300, at least 95% less three standard errors hold it."""
    rng = np.random.default_rng(7)
    true = {10: 0.5, 1000: 0.5 - math.log(100) * 0.5 / math.log(30), 100_000: -2.0}
    drawn = [{size: mean + 0.05 * rng.standard_normal(5) for size, mean in true.items()} for _ in range(400)]
    covered = [(one.low or 0.0) <= 300 <= (one.high or math.inf) for logs in drawn for one in trend(logs).crossovers]
    assert len(covered) >= 400
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 400)
    assert np.mean(covered) < 1


def test_equal_variants_hardly_ever_cross() -> None:
    """Noise far above the minimum effect: both sides clear, each held for all sizes at once, is rarer than 1 in 100."""
    rng = np.random.default_rng(8)
    crossing = [
        trend({10**place: 0.2 * rng.standard_normal(4) for place in range(1, 7)}).answer == "crosses"
        for _ in range(400)
    ]
    assert np.mean(crossing) < 0.01


def test_the_band_is_that_of_an_estimate() -> None:
    values = [0.1, 0.2, 0.4]
    assert LogRatioCurve(pd.DataFrame({10: values})).at(10).interval() == Estimate.of(values).interval()

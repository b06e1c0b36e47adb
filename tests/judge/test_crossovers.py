"""Crossovers at sizes that are known beforehand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from pyopbench.judge.choice import Rules
from pyopbench.judge.crossovers import Line, crossovers, size_trend_of
from pyopbench.judge.decision import Crossover, SizeTrend
from shares import TODAY, candidate, comparison_by_hand, contrasts_by_hand

NAN = math.nan
RULES = Rules(0.03)
EVEN = (-1.0, 0.0, 1.0)
"""Three launches around a mean: their deviation is that of a unit."""
T = 4.302653
"""t(0.975) with their 2 degrees of freedom."""


def found(minimum_effect: float = 0.03, **shares: list[float]) -> list[Crossover]:
    """Return the changes of the fastest where the shares of labels, by size from 10 on, are known exactly."""
    return of_launches({label: [[value] * 3 for value in values] for label, values in shares.items()}, minimum_effect)


def of_launches(shares: Mapping[str, Sequence[Sequence[float]]], minimum_effect: float = 0.03) -> list[Crossover]:
    by_size = {label: {10 ** (place + 1): values for place, values in enumerate(one)} for label, one in shares.items()}
    contrasts = contrasts_by_hand(by_size)
    comparison = comparison_by_hand(contrasts, [candidate(contrasts, label) for label in by_size])
    return list(crossovers(comparison, Rules(minimum_effect)))


def trend(shares: Mapping[int, Sequence[float]], rules: Rules = RULES) -> SizeTrend:
    """Return how a candidate with these shares, by size and launch, stands to the current callback."""
    contrasts = contrasts_by_hand({"native": shares})
    native = candidate(contrasts, "native")
    return size_trend_of(native, comparison_by_hand(contrasts, [native]), rules)


def around(mean: float, deviation: float) -> list[float]:
    return [mean + deviation * value for value in EVEN]


# Where the fastest changes


def test_lines_cross_where_algebra_says() -> None:
    """In shares of today: 0.2 and 0.5 at 10, 0.5 and 0.2 at 100; half way in the log between."""
    (crossover,) = found(a=[0.2, 0.5], b=[0.5, 0.2])
    assert (crossover.before, crossover.after) == ("a", "b")
    assert crossover.size == pytest.approx(10**1.5)


def test_the_current_callback_is_one_of_them() -> None:
    """Its share is 1: from 0.5 to 2 that is reached after a third of the way."""
    (crossover,) = found(native=[0.5, 2.0])
    assert (crossover.before, crossover.after) == ("native", TODAY)
    assert crossover.size == pytest.approx(10 ** (1 + 1 / 3))


def test_a_change_within_the_minimum_effect_on_either_side_is_none() -> None:
    """In points of today's time: 0.22 against 0.20 is 10% more and no difference that counts."""
    assert found(a=[0.20, 0.22], b=[0.50, 0.20]) == []
    assert found(a=[0.20, 0.50], b=[0.22, 0.20]) == []
    assert len(found(a=[0.20, 0.50], b=[0.50, 0.20])) == 1
    assert len(found(0.01, a=[0.20, 0.22], b=[0.50, 0.20])) == 1


def test_a_change_is_one_only_where_both_sides_are_clear() -> None:
    """By the means the fastest changes in all four; where one side is unsure it may not change at all."""
    sure, unsure = 0.001, 0.3
    for left, right in ((sure, unsure), (unsure, sure), (unsure, unsure)):
        shares = {"a": [around(0.2, left), around(0.5, right)], "b": [[0.5] * 3, [0.2] * 3]}
        assert of_launches(shares) == []
    shares = {"a": [around(0.2, sure), around(0.5, sure)], "b": [[0.5] * 3, [0.2] * 3]}
    assert [(one.before, one.after) for one in of_launches(shares)] == [("a", "b")]


def test_a_tie_in_between_does_not_hide_the_change() -> None:
    """Led by a by 30 points at 10, by b by 1 at 100 and by 30 at 1000: the zero lies at 30 of 31 parts of a decade."""
    (crossover,) = found(a=[0.20, 0.21, 0.50], b=[0.50, 0.20, 0.20])
    assert crossover.size == pytest.approx(10 ** (1 + 30 / 31))


def test_the_fastest_can_change_more_than_once() -> None:
    changes = found(a=[0.1, 0.2, 0.2, 0.1], b=[0.2, 0.1, 0.2, 0.2], c=[0.3, 0.3, 0.1, 0.3])
    assert [(one.before, one.after) for one in changes] == [("a", "b"), ("b", "c"), ("c", "a")]


def test_one_that_takes_over_because_the_other_is_missing_has_not_crossed_it() -> None:
    assert found(a=[0.1, NAN, NAN], b=[0.2, 0.2, 0.2]) == []
    assert found(a=[NAN, 0.1, 0.1], b=[0.2, 0.2, 0.2]) == []


def test_a_size_without_a_number_in_between_is_bridged() -> None:
    (crossover,) = found(a=[0.1, NAN, 0.4], b=[0.25, 0.25, 0.25])
    assert crossover.size == pytest.approx(100)


def test_nothing_to_cross() -> None:
    assert found(a=[0.1, 0.2]) == []
    assert found() == []


def test_equal_variants_hardly_ever_change_places() -> None:
    """Five of them at six sizes, noise far above the minimum effect: named in at most 5% of reports.

    From means alone, 77% of reports with two launches named one.
    """
    rng = np.random.default_rng(8)
    reports = 0.5 + 0.1 * rng.standard_normal((150, 5, 6, 3))
    named = sum(bool(of_launches({f"v{place}": one for place, one in enumerate(shares)})) for shares in reports)
    assert named <= 150 * 0.05


# Candidates against the current callback


def test_a_crossover_has_the_sizes_at_which_the_band_holds_zero() -> None:
    """The launches' lines are parallel: their band is t s / sqrt(3) wide all along, and as wide on the size axis."""
    made = trend({10: around(1.5, 0.02), 1000: around(0.5, 0.02)})
    (crossover,) = made.crossovers
    # 50 points of today's time are one decade of the size.
    half = T * 0.02 / math.sqrt(3) / 0.5
    assert (made.answer, made.sizes, made.clear) == ("crosses", (10, 1000), (10, 1000))
    assert (crossover.before, crossover.after) == (TODAY, "native")
    assert crossover.size == pytest.approx(100)
    assert crossover.low == pytest.approx(100 * 10**-half, rel=1e-4)
    assert crossover.high == pytest.approx(100 * 10**half, rel=1e-4)


def test_a_change_of_the_fastest_has_the_same_ends() -> None:
    """The callback and one candidate: their crossover is the change of the fastest."""
    launches = {10: around(1.5, 0.02), 1000: around(0.5, 0.02)}
    contrasts = contrasts_by_hand({"native": launches})
    comparison = comparison_by_hand(contrasts, [candidate(contrasts, "native")])
    (change,), (crossover,) = crossovers(comparison, RULES), trend(launches).crossovers
    assert (change.before, change.after) == (crossover.before, crossover.after)
    assert (change.size, change.low, change.high) == pytest.approx((crossover.size, crossover.low, crossover.high))


def test_what_two_have_in_common_in_a_launch_does_not_widen_where_they_cross() -> None:
    """Each varies by 30 points, their difference by 2 only."""
    common = np.array([-0.3, 0.0, 0.3])
    a = [list(1.0 + common), list(2.0 + common)]
    b = [list(np.array(around(1.5, 0.02)) + common), list(np.array(around(1.5, 0.02)) + common)]
    contrasts = contrasts_by_hand({label: {10: one[0], 1000: one[1]} for label, one in (("a", a), ("b", b))})
    line = Line(contrasts, "a", "b")
    assert line.at(100).mean == pytest.approx(0.0)
    low, high = line.at(100).interval()
    assert high - low == pytest.approx(2 * T * 0.02 / math.sqrt(3), rel=1e-5)


def test_the_one_that_is_faster_at_small_sizes_comes_first() -> None:
    (crossover,) = trend({10: around(0.5, 0.01), 1000: around(1.5, 0.01)}).crossovers
    assert (crossover.before, crossover.after) == ("native", TODAY)


def test_two_crossovers() -> None:
    made = trend({10: around(1.5, 0.01), 1000: around(0.5, 0.01), 100_000: around(1.5, 0.01)})
    assert [(one.before, one.after) for one in made.crossovers] == [(TODAY, "native"), ("native", TODAY)]
    assert [one.size for one in made.crossovers] == pytest.approx([100, 10_000])
    for one in made.crossovers:
        assert one.low is not None
        assert one.high is not None
        assert one.low < one.size < one.high


@pytest.mark.parametrize(("share", "answer"), [(0.5, "faster"), (1.5, "slower"), (1.0, "unclear"), (1.02, "unclear")])
def test_none_in_range_is_an_answer(share: float, answer: str) -> None:
    """A difference below the minimum effect is no clear one, however sure it is."""
    made = trend({10: around(share, 0.001), 1000: around(share, 0.001)})
    assert (made.answer, made.crossovers) == (answer, ())
    assert made.clear == ((10, 1000) if answer != "unclear" else ())


@pytest.mark.parametrize("sizes", [(10, 1000), (1000, 10)])
def test_where_one_side_is_not_clear_nothing_is_known_to_cross(sizes: tuple[int, int]) -> None:
    unsure, sure = sizes
    made = trend(dict(sorted({unsure: around(1.1, 0.2), sure: around(0.5, 0.01)}.items())))
    assert (made.answer, made.clear, made.crossovers) == ("faster", (sure,), ())


def test_what_is_not_clear_in_between_is_no_crossover() -> None:
    made = trend({10: around(0.5, 0.01), 100: around(1.1, 0.2), 1000: around(0.5, 0.01)})
    assert (made.answer, made.clear, made.crossovers) == ("faster", (10, 1000), ())


def test_an_unclear_size_between_two_clear_ones_lies_within_the_ends() -> None:
    """The interval at 100 holds zero, so that the two may change places on either side of it."""
    (crossover,) = trend({10: around(1.5, 0.01), 100: around(1.0, 0.05), 1000: around(0.5, 0.01)}).crossovers
    assert crossover.low is not None
    assert crossover.high is not None
    assert 10 < crossover.low < 100 < crossover.high < 1000


def test_one_launch_makes_nothing_clear() -> None:
    assert trend({10: [1.5], 1000: [0.5]}) == SizeTrend("native", "unclear", (10, 1000), ())


def test_intervals_cover_the_true_crossover() -> None:
    """Of 300 made-up candidates that truly cross at 300, at least 95% less three standard errors hold it."""
    rng = np.random.default_rng(7)
    true = {10: 1.5, 1000: 1.5 - 0.5 * math.log(100) / math.log(30), 100_000: 0.1}
    drawn = [{size: mean + 0.03 * rng.standard_normal(5) for size, mean in true.items()} for _ in range(300)]
    covered = [
        (one.low or 0.0) <= 300 <= (one.high or math.inf) for shares in drawn for one in trend(shares).crossovers
    ]
    assert len(covered) >= 290
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300)
    assert np.mean(covered) < 1


def test_a_candidate_that_is_equal_hardly_ever_crosses() -> None:
    """Noise far above the minimum effect: both sides clear, each held for all sizes at once, is rarer than 1 in 100."""
    rng = np.random.default_rng(8)
    crossing = [
        trend({10**place: 1 + 0.2 * rng.standard_normal(4) for place in range(1, 7)}).answer == "crosses"
        for _ in range(300)
    ]
    assert np.mean(crossing) < 0.01

"""What is usual is fitted to many spreads, makes intervals of few launches narrower, and keeps their promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pyopbench.stats import estimate as statistics
from pyopbench.stats.corrections import holm
from pyopbench.stats.estimate import (
    LEAST_COMPARISONS,
    MOST_DEGREES,
    RARE,
    UNKNOWN,
    Estimate,
    Spread,
    moderated,
    usual_spread,
    usual_without_each,
)

MANY = 4000


def drawn(rng: np.random.Generator, degrees: float, variance: float, own: float) -> list[tuple[float, float]]:
    """Draw deviations as the fit assumes: scaled inverse chi squares for the true variances, chi squares on top."""
    true = variance * degrees / rng.chisquare(degrees, MANY)
    seen = true * rng.chisquare(own, MANY) / own
    return [(math.sqrt(value), own) for value in seen]


@pytest.mark.parametrize(("degrees", "variance", "own"), [(4.0, 0.0016, 2), (6.0, 1.0, 4.4), (2.0, 1e-6, 9)])
def test_the_fit_finds_what_the_spreads_were_drawn_from(degrees: float, variance: float, own: float) -> None:
    found = usual_spread(drawn(np.random.default_rng(1), degrees, variance, own))
    assert found.degrees == pytest.approx(degrees, rel=0.2)
    assert found.variance == pytest.approx(variance, rel=0.05)


def test_equal_spreads_are_worth_the_most() -> None:
    rng = np.random.default_rng(2)
    found = usual_spread((math.sqrt(0.0009 * rng.chisquare(2) / 2), 2) for _ in range(MANY))
    assert found.degrees == MOST_DEGREES
    assert found.variance == pytest.approx(0.0009, rel=0.05)


def test_spreads_of_all_magnitudes_are_worth_hardly_anything() -> None:
    rng = np.random.default_rng(3)
    found = usual_spread((math.exp(4 * rng.standard_normal()), 7) for _ in range(500))
    assert found.degrees < 0.5


def test_too_few_or_no_spreads_are_unknown() -> None:
    few = [(0.01 * (1 + i), 2) for i in range(LEAST_COMPARISONS - 1)]
    assert usual_spread(few) == UNKNOWN
    assert usual_spread([*few, (math.nan, 0), (0.0, 3), (math.nan, -1)]) == UNKNOWN
    assert usual_spread([*few, (0.1, 1)]) != UNKNOWN


@pytest.mark.parametrize("at_once", [1, 100, 1_000_000])
def test_what_is_usual_without_each_is_the_fit_to_the_others(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST_AT_ONCE", at_once)
    deviations = np.abs(np.random.default_rng(6).standard_t(3, LEAST_COMPARISONS + 2))
    deviations[[2, 5]] = math.nan, 0.0
    known = LEAST_COMPARISONS
    found = usual_without_each(deviations, 1.0)
    assert [one == UNKNOWN for one in found] == [place not in (2, 5) for place in range(known + 2)]
    more = np.append(deviations, 0.7)
    for place, one in enumerate(usual_without_each(more, 1.0)):
        fit = usual_spread((value, 1.0) for value in np.delete(more, place))
        assert (one.degrees, one.variance) == pytest.approx((fit.degrees, fit.variance), rel=1e-4)


def test_a_variance_moves_towards_the_usual_one_by_the_degrees_of_each() -> None:
    """By hand: (4 * 9 + 2 * 3) / 6."""
    assert Spread(4.0, 9.0).moderate(3.0, 2) == 7.0
    assert UNKNOWN.moderate(3.0, 2) == 3.0


def test_a_variance_far_above_the_usual_one_keeps_to_itself() -> None:
    """By SciPy's F distribution: a ratio passed in a fifth of cases or more counts as usual, rarer ones less."""
    usual = Spread(4.0, 9.0)
    for ratio in (0.1, 1.0, 2.0, 3.0, 10.0, 1000.0):
        passed = scipy_stats.f.sf(ratio, 2, 4)
        weight = usual.weight(9.0 * ratio, 2)
        assert weight == pytest.approx(4.0 * min(1.0, passed / RARE))
        assert usual.moderate(9.0 * ratio, 2) == pytest.approx((weight * 9.0 + 2 * 9.0 * ratio) / (weight + 2))
    assert usual.weight(9.0, 2) == 4.0
    assert usual.weight(9e6, 2) < 1e-4
    assert UNKNOWN.weight(3.0, 2) == 0.0


def test_nothing_near_the_fit_is_more_likely() -> None:
    """By SciPy's F distribution."""
    own = 2.0
    samples = drawn(np.random.default_rng(7), 4.0, 0.0016, own)[:300]
    variances = np.array([deviation**2 for deviation, _ in samples])

    def likelihood(degrees: float, variance: float) -> float:
        return float((scipy_stats.f.logpdf(variances / variance, own, degrees) - math.log(variance)).sum())

    found = usual_spread(samples)
    best = likelihood(found.degrees, found.variance)
    for factor in (0.97, 1.03):
        assert likelihood(found.degrees * factor, found.variance) < best
        assert likelihood(found.degrees, found.variance * factor) < best


def test_two_launches_each_tell_the_degrees_in_nearly_every_run() -> None:
    """With one degree of freedom logs of variances vary by those near 0; moments of them told 1.4 to 8."""
    rng = np.random.default_rng(8)
    runs = [usual_spread(drawn(rng, 7.0, 0.0016, 1)[:350]).degrees for _ in range(100)]
    assert np.quantile(runs, 0.05) > 3.0


def test_an_interval_has_the_moderated_spread_and_all_degrees_of_freedom() -> None:
    estimate = Estimate(0.5, 0.01, 3, Spread(6.0, 0.0004))
    deviation = math.sqrt((6 * 0.0004 + 2 * 0.0001) / 8)
    expected = scipy_stats.t.interval(0.95, 8, loc=0.5, scale=deviation / math.sqrt(3))
    assert estimate.interval(0.95) == pytest.approx(expected)


def launches_of(rng: np.random.Generator, heterogeneity: float, launches: int, *, heavy: bool) -> list[Estimate]:
    """Draw 100 comparisons of equal code whose spreads differ by a lognormal factor."""
    shape = (100, launches)
    noise = rng.standard_t(3, shape) / math.sqrt(3) if heavy else rng.standard_normal(shape)
    spreads = 0.04 * np.exp(heterogeneity * rng.standard_normal(100))
    return [Estimate.of(row) for row in noise * spreads[:, None]]


@pytest.mark.nightly
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("heterogeneity", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("launches", [3, 6])
def test_moderated_intervals_cover_and_are_narrower(launches: int, heterogeneity: float, heavy: bool) -> None:
    """95% within simulation error (7,000 intervals: 0.3%), though the spreads are not drawn as the fit assumes."""
    rng = np.random.default_rng(4)
    covered, plain_widths, widths = [], [], []
    for _ in range(70):
        estimates = launches_of(rng, heterogeneity, launches, heavy=heavy)
        for plain, estimate in zip(estimates, moderated(estimates), strict=True):
            low, high = estimate.interval(0.95)
            covered.append(low <= 0 <= high)
            widths.append(high - low)
            plain_widths.append(np.diff(plain.interval(0.95))[0])
    assert np.mean(covered) >= 0.94
    assert np.median(widths) < np.median(plain_widths)


@pytest.mark.nightly
@pytest.mark.parametrize("heterogeneity", [0.0, 0.8])
def test_equal_code_is_not_called_different_by_three_launches(heterogeneity: float) -> None:
    """Of families of 100 verdicts with the minimum effect of 3%, at most 5% hold a false one."""
    rng, delta, families = np.random.default_rng(5), math.log(1.03), 150
    false = 0
    for _ in range(families):
        found = moderated(launches_of(rng, heterogeneity, 3, heavy=False))
        adjusted = holm([estimate.effect_p(delta) for estimate in found])
        false += any(p <= 0.05 and abs(one.mean) > delta for p, one in zip(adjusted, found, strict=True))
    assert false <= families * 0.05 + 2 * math.sqrt(families * 0.05 * 0.95)

"""Quantiles for comparing one with many, against what was published and against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pyopbench.stats import dunnett

# C. W. Dunnett, J. Am. Stat. Assoc. 50 (1955), table 1a: one-sided, joint confidence 95%, and table 1b: 99%.
PUBLISHED = [
    (2, 5, 0.95, 2.44),
    (2, 10, 0.95, 2.15),
    (5, 10, 0.95, 2.56),
    (9, 10, 0.95, 2.81),
    (3, 20, 0.95, 2.19),
    (9, 20, 0.95, 2.60),
    (2, math.inf, 0.95, 1.92),
    (9, math.inf, 0.95, 2.42),
    (2, 10, 0.99, 3.11),
    (9, math.inf, 0.99, 3.00),
]


@pytest.mark.parametrize(("many", "degrees", "level", "quantile"), PUBLISHED)
def test_quantiles_are_those_that_dunnett_published(many: int, degrees: float, level: float, quantile: float) -> None:
    assert dunnett.one_sided(many, degrees, level) == pytest.approx(quantile, abs=0.0101)


@pytest.mark.parametrize("degrees", [1.0, 2.5, 10.0, 1000.0])
def test_of_one_difference_it_is_the_quantile_of_t(degrees: float) -> None:
    assert dunnett.one_sided(1, degrees, 0.95) == pytest.approx(scipy_stats.t.ppf(0.95, degrees), rel=1e-9)


@pytest.mark.parametrize(("many", "degrees"), [(4, 2.0), (8, 5.5), (5, math.inf)])
def test_all_differences_to_a_common_one_stay_below_at_the_level(many: int, degrees: float) -> None:
    """Simulated: equal means, of which each is known as well as the common one; the spread from `degrees`."""
    rng = np.random.default_rng(many)
    draws = 200_000
    means = rng.standard_normal((draws, many + 1))
    spread = np.sqrt(rng.chisquare(degrees, draws) / degrees) if math.isfinite(degrees) else np.ones(draws)
    largest = (means[:, 1:] - means[:, :1]).max(axis=1) / (math.sqrt(2) * spread)
    below = float(np.mean(largest <= dunnett.one_sided(many, degrees, 0.95)))
    assert below == pytest.approx(0.95, abs=0.004)


def test_more_differences_and_fewer_degrees_ask_for_more() -> None:
    by_many = [dunnett.one_sided(many, 5.0, 0.95) for many in (1, 2, 3, 5, 9, 30)]
    by_degrees = [dunnett.one_sided(3, degrees, 0.95) for degrees in (400.0, 50.0, 10.0, 3.0, 1.0, 0.4)]
    assert by_many == sorted(by_many)
    assert by_degrees == sorted(by_degrees)


@pytest.mark.parametrize("degrees", [0.4, 0.3, 0.2, 0.1, 1e-6])
def test_a_fraction_of_a_degree_of_freedom_has_no_useful_quantile_and_still_a_number(degrees: float) -> None:
    assert dunnett.one_sided(2, 1.0, 0.999) <= dunnett.one_sided(9, degrees, 0.999) <= dunnett.LARGEST

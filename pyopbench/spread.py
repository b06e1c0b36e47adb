"""How much launches differ: what is usual in a run helps to judge a spread that few launches have shown.

Three or four launches tell little about their own spread, so an interval from them alone is many times as wide as it
need be. All comparisons of a run are made by the same processes on the same machine; the spread of each is therefore
taken as drawn from one distribution, which is fitted to all of them, and moved towards its centre, the more so the
more alike they are. Where they are not alike the fit says so, and each is left to itself.

Source: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments", Stat. Appl. Genet. Mol. Biol. 3 (2004), article 3, sections 5 and 6.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

LEAST_COMPARISONS = 10
"""With fewer spreads there is nothing to call usual."""
MOST_DEGREES = 30.0
"""More would say that all spreads are equal, which no machine has shown; the t quantiles hardly change from there."""


@dataclass(frozen=True)
class Spread:
    """What is usual: `variance` between launches, worth as much as `degrees` degrees of freedom. (0, 0) is nothing."""

    degrees: float = 0.0
    variance: float = 0.0

    def moderate(self, variance: float, degrees: float) -> float:
        """Return the mean of the usual variance and one with `degrees` degrees of freedom, weighted by these."""
        return (self.degrees * self.variance + degrees * variance) / (self.degrees + degrees)


UNKNOWN = Spread()


def usual_spread(samples: Iterable[tuple[float, int]]) -> Spread:
    """Fit what is usual to the spreads of many comparisons.

    Args:
        samples: for each comparison the standard deviation over its launches, and how many launches these are; those
            of fewer than two launches, or without any spread, are passed over.

    Returns:
        The fit by the moments of the log variances; `UNKNOWN` for fewer than `LEAST_COMPARISONS`.
    """
    known = [(deviation, n) for deviation, n in samples if n > 1 and deviation > 0]
    if len(known) < LEAST_COMPARISONS:
        return UNKNOWN
    deviations, launches = np.array(known, dtype=np.float64).T
    half = (launches - 1) / 2
    logs = 2 * np.log(deviations) - special.digamma(half) + np.log(half)
    centre = float(logs.mean())
    excess = float(logs.var(ddof=1) - special.polygamma(1, half).mean())
    degrees = min(2 * _inverse_trigamma(excess), MOST_DEGREES) if excess > 0 else MOST_DEGREES
    return Spread(degrees, math.exp(centre + float(special.digamma(degrees / 2)) - math.log(degrees / 2)))


def _inverse_trigamma(value: float) -> float:
    # trigamma falls from infinity to 0, like 1/x² near 0 and 1/x far out, so both ends are on either side of it.
    low, high = min(1.0, 0.5 / math.sqrt(value)), 1.0 + 2.0 / value
    return float(optimize.brentq(lambda x: float(special.polygamma(1, x)) - value, low, high))

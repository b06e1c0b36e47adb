"""How much launches differ: what is usual in a run helps to judge a spread that few launches have shown.

Three or four launches tell little about their own spread, so an interval from them alone is many times as wide as it
need be. All comparisons of a run are made by the same processes on the same machine; the spread of each is therefore
taken as drawn from one distribution, which is fitted to all of them, and moved towards its centre, the more so the
more alike they are. Where they are not alike the fit says so, and each is left to itself; so is a single one that
scatters far more than what is usual explains.

Sources: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments", Stat. Appl. Genet. Mol. Biol. 3 (2004), article 3, sections 5 and 6.2. For single ones that scatter more,
and simpler here: B. Phipson et al., "Robust hyperparameter estimation protects against hypervariable genes and improves
power to detect differential expression", Ann. Appl. Stat. 10 (2016) 946-963.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

LEAST_COMPARISONS = 10
"""With fewer spreads there is nothing to call usual."""
MOST_DEGREES = 8.0
"""More would trust few launches that happen to agree, in a case that is noisier than the others. Simulated without a
minimum effect: one case in 200 with five times the spread of the others made a false verdict in 22% of 100 reports with
30 and without `RARE`, in 5% with 8, in 2% with both."""
LEAST_EXCESS = 1e-6
"""Log variances that vary no more than chance explains count as varying by this much: as all but equal."""
RARE = 0.2
"""A spread that is passed less often than this under what is usual is moved towards it by less in proportion."""


@dataclass(frozen=True)
class Spread:
    """What is usual: `variance` between launches, worth as much as `degrees` degrees of freedom. (0, 0) is nothing."""

    degrees: float = 0.0
    variance: float = 0.0

    def weight(self, variance: float, degrees: float) -> float:
        """Return the degrees of freedom that this is worth to a variance with `degrees` of its own.

        All of them, unless so large a ratio of variances is `RARE` by Fisher's F distribution.
        """
        if self.degrees == 0:
            return 0.0
        passed = float(special.fdtrc(degrees, self.degrees, variance / self.variance))
        return self.degrees * min(1.0, passed / RARE)

    def moderate(self, variance: float, degrees: float) -> float:
        """Return the mean of the usual variance and one with `degrees` degrees of freedom, weighted by these."""
        weight = self.weight(variance, degrees)
        return (weight * self.variance + degrees * variance) / (weight + degrees)


UNKNOWN = Spread()


def usual_spread(samples: Iterable[tuple[float, float]]) -> Spread:
    """Fit what is usual to the spreads of many comparisons.

    Args:
        samples: for each comparison the standard deviation over its launches, and its degrees of freedom; those
            without degrees of freedom, or without any spread, are passed over.

    Returns:
        The fit by the moments of the log variances; `UNKNOWN` for fewer than `LEAST_COMPARISONS`.
    """
    known = [(deviation, degrees) for deviation, degrees in samples if degrees > 0 and deviation > 0]
    if len(known) < LEAST_COMPARISONS:
        return UNKNOWN
    deviations, own = np.array(known, dtype=np.float64).T
    half = own / 2
    logs = 2 * np.log(deviations) - special.digamma(half) + np.log(half)
    centre = float(logs.mean())
    excess = float(logs.var(ddof=1) - special.polygamma(1, half).mean())
    fitted = _inverse_trigamma(max(excess, LEAST_EXCESS))
    return Spread(min(2 * fitted, MOST_DEGREES), math.exp(centre + float(special.digamma(fitted)) - math.log(fitted)))


def _inverse_trigamma(value: float) -> float:
    # trigamma falls from infinity to 0, like 1/x² near 0 and 1/x far out, so both ends are on either side of it.
    low, high = min(1.0, 0.5 / math.sqrt(value)), 1.0 + 2.0 / value
    return float(optimize.brentq(lambda x: float(special.polygamma(1, x)) - value, low, high))

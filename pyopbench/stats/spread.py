"""How much launches differ: what is usual in a run helps to judge a spread that few launches have shown.

Three or four launches tell little about their own spread, so an interval from them alone is many times as wide as it
need be. All comparisons of a run are made by the same processes on the same machine; the spread of each is therefore
taken as drawn from one distribution, which is fitted to all of them, and moved towards its centre, the more so the
more alike they are. Where they are not alike the fit says so, and each is left to itself; so is a single one that
scatters far more than what is usual explains.

The fit is by maximum likelihood. By the moments of log variances, as in the first source, two launches each told
1.4, 2.0 and 8 degrees of freedom in three runs of one machine, where the likelihood says 4.6, 8 and 7.1: with one
degree of freedom the logs of a variance vary mostly by those that happen to be almost 0, which say nothing about how
large one can be.

Sources: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray
experiments", Stat. Appl. Genet. Mol. Biol. 3 (2004), article 3, sections 5 and 6.2. For single ones that scatter more,
and simpler here: B. Phipson et al., "Robust hyperparameter estimation protects against hypervariable genes and improves
power to detect differential expression", Ann. Appl. Stat. 10 (2016) 946-963.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

Floats: TypeAlias = npt.NDArray[np.float64]

LEAST_COMPARISONS = 10
"""With fewer spreads there is nothing to call usual."""
MOST_DEGREES = 8.0
"""More would trust few launches that happen to agree, in a case that is noisier than the others. Simulated without a
minimum effect: one case in 200 with five times the spread of the others made a false verdict in 22% of 100 reports with
30 and without `RARE`, in 5% with 8, in 2% with both."""
LEAST_DEGREES = 0.1
"""Fewer are no different: what is usual then counts for nothing."""
ALL_EQUAL = 1000.0
"""With more the spreads are all but equal."""
MOST_STEPS = 200
"""Spreads whose logs lie further apart than this are not told apart from one another."""
NEAR_VARIANCE, NEAR_DEGREES = 1e-9, 1e-5
"""How near the fit comes to the logs of both."""
MOST_AT_ONCE = 1_000_000
"""Comparisons times fits that are computed at the same time: 8 MB for each intermediate result."""
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


def usual_spread(samples: Iterable[tuple[float, float]], least: int = LEAST_COMPARISONS) -> Spread:
    """Fit what is usual to the spreads of many comparisons.

    Args:
        samples: for each comparison the standard deviation over its launches, and its degrees of freedom; those
            without degrees of freedom, or without any spread, are passed over.
        least: how many it takes.

    Returns:
        The fit by maximum likelihood; `UNKNOWN` for fewer than `least`.
    """
    known = [(deviation, degrees) for deviation, degrees in samples if degrees > 0 and deviation > 0]
    if len(known) < least:
        return UNKNOWN
    deviations, own = np.array(known, dtype=np.float64).T
    (found,) = _most_likely(deviations**2, own, np.ones((1, own.size)))
    return found


def usual_without_each(deviations: Floats, own: float) -> tuple[Spread, ...]:
    """Return for each comparison what is usual of all the others, as `usual_spread` of them.

    Args:
        deviations: `(comparisons,)` float64, the standard deviations; one that is not above zero counts nowhere.
        own: the degrees of freedom of each.
    """
    known = np.flatnonzero(deviations > 0)
    found = [UNKNOWN] * deviations.size
    enough = np.flatnonzero(known.size - (deviations > 0) >= LEAST_COMPARISONS)
    for some in np.array_split(enough, enough.size * known.size // MOST_AT_ONCE + 1):
        if some.size:
            others = (some[:, None] != known).astype(np.float64)
            fits = _most_likely(deviations[known] ** 2, np.full(known.size, own), others)
            for place, fit in zip(some, fits, strict=True):
                found[place] = fit
    return tuple(found)


def _most_likely(variances: Floats, own: Floats, counted: Floats) -> list[Spread]:
    """Return the spreads that variances with `own` degrees are likeliest drawn by: variance * F(own, degrees).

    Where both derivatives of the log likelihood are 0: the one by the variance for given degrees, within that by them.

    Args:
        variances: `(comparisons,)` float64.
        own: `(comparisons,)` float64, the degrees of freedom of each.
        counted: `(fits, comparisons)` float64, how often each comparison counts in each fit.
    """
    unit = float(np.median(variances))
    scaled = own * variances / unit
    kinds, kind = np.unique(own, return_inverse=True)  # launches are mostly as many for all: few special functions
    counts = counted @ (kind[:, None] == np.arange(kinds.size))
    total, last = counted @ own, np.zeros(len(counted))

    def best_variances(degrees: Floats) -> Floats:
        """Return the logs of the likeliest variances, by Newton's steps from the last ones; none is longer than 1."""
        for _ in range(MOST_STEPS):
            part = 1 / (1 + (degrees * np.exp(last))[:, None] / scaled)
            weighted = counted * (own + degrees[:, None]) * part
            step = (weighted.sum(axis=1) - total) / (weighted * (1 - part)).sum(axis=1)
            np.add(last, np.clip(step, -1.0, 1.0), out=last)
            if float(np.abs(step).max()) < NEAR_VARIANCE:
                break
        return last

    def too_few(degrees: Floats) -> npt.NDArray[np.bool_]:
        logs = np.log1p(scaled * (np.exp(-best_variances(degrees)) / degrees)[:, None])
        trend = special.digamma((kinds + degrees[:, None]) / 2) - special.digamma(degrees / 2)[:, None]
        # The rest is 0 where the derivative by the variance is.
        found: npt.NDArray[np.bool_] = (counts * trend).sum(axis=1) > (counted * logs).sum(axis=1)
        return found

    low, high = (np.full(len(counted), math.log(end)) for end in (LEAST_DEGREES, ALL_EQUAL))
    while float((high - low).max()) > NEAR_DEGREES:
        middle = (low + high) / 2
        more = too_few(np.exp(middle))
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    degrees = np.exp((low + high) / 2)
    found = unit * np.exp(best_variances(degrees))
    return [Spread(min(one, MOST_DEGREES), two) for one, two in zip(degrees.tolist(), found.tolist(), strict=True)]

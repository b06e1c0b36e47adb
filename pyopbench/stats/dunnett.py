"""How far the best of several can be off: quantiles for comparing one with many at the same time.

Source: C. W. Dunnett, "A multiple comparison procedure for comparing several treatments with a control", J. Am. Stat.
Assoc. 50 (1955) 1096-1121.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

POINTS = 24
"""Nodes of the quadrature over what is common to all differences; quantiles agree with tables to three digits."""
SPREADS = 64
"""Equally likely standard deviations that chances are averaged over."""
MANY_DEGREES = 200.0
"""From so many degrees of freedom on the spread counts as known."""
LARGEST = 1e4
"""Where the search for a quantile ends: a fraction of a degree of freedom has no useful one."""
ROOT_TOLERANCE = 1e-9
DIGITS = 6
"""Significant digits of a quantile, more than the quadrature has: so that none hangs on how the root is found."""


def one_sided(many: int, degrees: float, level: float) -> float:
    """Return d so that all of `many` differences to a common one stay below d standard errors, with chance `level`.

    Any two differences have correlation 1/2, as where all means are known equally well.

    Args:
        many: how many differences, at least 1.
        degrees: degrees of freedom of the standard error, above 0.
        level: for example 0.95.
    """
    if many == 1:
        return float(special.stdtrit(degrees, level))
    return _quantile(many, float(f"{min(degrees, MANY_DEGREES):.2g}"), level)


@lru_cache(maxsize=4096)
def _quantile(many: int, degrees: float, level: float) -> float:
    common, weights = _quadrature()
    spreads = _spreads(max(degrees, 0.1))[:, None]

    def excess(d: float) -> float:
        inside = special.ndtr(math.sqrt(2) * d * spreads + common) ** many
        return float(np.add.reduce(inside @ weights) / spreads.size) - level

    low, high = 0.0, LARGEST
    # All differences at once need more than one of them, and no more than as many that have nothing in common.
    guesses = np.minimum(special.stdtrit(degrees, [level, level ** (1 / many)]) * (0.99, 1.01), LARGEST)
    for guess in guesses.tolist():
        low, high = (max(low, guess), high) if excess(guess) < 0 else (low, min(high, guess))
    if excess(high) <= 0:
        return LARGEST
    return float(f"{optimize.brentq(excess, low, high, rtol=ROOT_TOLERANCE):.{DIGITS}g}")


@cache
def _quadrature() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    return nodes[None, :], weights / math.sqrt(2 * math.pi)


@lru_cache(maxsize=256)
def _spreads(degrees: float) -> npt.NDArray[np.float64]:
    """Return equally likely values of a standard deviation over the true one."""
    if degrees >= MANY_DEGREES:
        return np.ones(1)
    places = (np.arange(SPREADS) + 0.5) / SPREADS
    return np.asarray(np.sqrt(2 * special.gammaincinv(degrees / 2, places) / degrees))

"""Ratios of two runs that were not interleaved: what differs between runs is part of them, and is estimated and added.

Launches of one run share what the machine was like while it ran: frequency, temperature, other guests of the host. More
launches do not average that out, so the variance of a log ratio has three parts,

    var(A) / launches of A + var(B) / launches of B + between runs

of which the first two are Welch's (B. L. Welch, Biometrika 34 (1947) 28-35). Two runs cannot tell the third from a real
difference, but most cases of a comparison usually have none. So it is shown by the median square of the log ratios of
all *other* cases: what all cases have in common counts as the machine's, and a few real differences count little.
docs/statistics.md has simulations of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from pyopbench.stats.estimate import FEWEST_DEGREES, Estimate

RUN_SPREAD = 0.03
"""The least by which two runs of the same code are taken to differ, as a share and one standard deviation. Nothing in
two runs can show that the machine was the same in both, so it is an assumption, as large as the smallest difference
that counts."""
ASSUMED_DEGREES, MOST_DEGREES = 8.0, 4.0
"""Degrees of freedom of the variance between runs: of the assumed one, and the most of one that other cases show. Runs
change some cases more than others: with 8, twice as many verdicts were false where that varies by a lognormal 0.5."""


def unpaired(first: Sequence[Estimate], second: Sequence[Estimate]) -> list[Estimate]:
    """Return the difference of two runs for each case.

    With one launch in either run, only other cases show how launches differ, and it takes `FEWEST_DEGREES` of them.

    Args:
        first: for each case the estimate over the launches of one run, of the logs of seconds.
        second: the same of the other run, in the same order.
    """
    pairs = [difference(a, b) for a, b in zip(first, second, strict=True)]
    squares = np.array([one.mean**2 for one in pairs])
    found = []
    for place, one in enumerate(pairs):
        others = np.delete(squares, place)
        others = others[np.isfinite(others)]
        if not one.known and (not one.n or others.size < FEWEST_DEGREES):
            found.append(one)
            continue
        # Half of all squares of a normal variable are below 0.45 of their mean.
        shown = float(np.median(others)) / float(special.chdtri(1, 0.5)) if others.size else 0.0
        between = max(shown, math.log1p(RUN_SPREAD) ** 2)
        spread, degrees = (one.spread, one.spread_degrees) if one.known else (0.0, math.inf)
        enough = min(float(others.size), MOST_DEGREES) if shown >= between else ASSUMED_DEGREES
        found.append(Estimate(one.mean, spread, one.n, degrees, between, enough))
    return found


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the second less the first, which were measured by launches of their own.

    Its degrees of freedom are those of the side with fewer (M. R. Mickey and M. B. Brown, Ann. Math. Stat. 37 (1966)
    639-642): Satterthwaite's are too many so far out in the tails as a correction for many comparisons goes.
    """
    n = min(first.n, second.n)
    error = math.hypot(first.standard_error, second.standard_error)
    return Estimate(second.mean - first.mean, error * math.sqrt(n), n, min(first.spread_degrees, second.spread_degrees))

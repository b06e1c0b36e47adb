"""What runs of the same code differ by, beyond what their launches show: estimated from runs that were repeated.

Launches of one run share the state of the machine: where pages lie, which frequencies and neighbours there are. The
cost of a port over that of a callback then differs from run to run by more than the spread between launches explains.
Here the variance of a share between runs, less what its standard errors within the runs explain, is averaged over all
ports whose share is known well enough in each run.

What intervals allow for is more than that estimate, because a standard deviation from a few runs is often too small: a
95% interval that is all run effect would hold the truth in 81% of cases with the point estimate from three runs, and in
99% with the upper end of its interval, which is six times the estimate and leaves nothing to be told. With the ratio of
Student's t to the normal quantile, 2.2 for three runs, it is 95%.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from pyopbench.results.certificate import RunEffect

LEAST_RUNS = 2
PRECISE = 0.05
"""A share whose standard error is above this part of itself tells nothing of what runs differ by."""
LEVEL = 0.95


def run_effect(runs: Sequence[Mapping[str, tuple[float, float]]]) -> RunEffect | None:
    """Estimate the run effect.

    Args:
        runs: for each run, by id of a port's case, its share of the callback's time and the standard error of that
            within the run.

    Returns:
        None for fewer than `LEAST_RUNS` runs, or without a case that all of them know well.
    """
    common = [case for case in runs[0] if all(_is_precise(run.get(case)) for run in runs)] if runs else []
    if len(runs) < LEAST_RUNS or not common:
        return None
    shares = np.array([[run[case][0] for case in common] for run in runs])
    errors = np.array([[run[case][1] for case in common] for run in runs]) / shares
    between = np.log(shares).var(axis=0, ddof=1)
    variance = max(float(np.mean(between - (errors**2).mean(axis=0))), 0.0)
    degrees = len(runs) - 1
    # Half of an observed zero is not zero: the interval is of what was seen, errors included, and bounded below by 0.
    seen = float(np.mean(between))
    explained = seen - variance
    low, high = (degrees / float(special.chdtri(degrees, tail)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    allowed = (float(special.stdtrit(degrees, (1 + LEVEL) / 2)) / float(special.ndtri((1 + LEVEL) / 2))) ** 2
    low, high, allowed = (math.sqrt(max(seen * factor - explained, 0.0)) for factor in (low, high, allowed))
    return RunEffect(math.sqrt(variance), low, high, allowed, len(runs), len(common))


def _is_precise(found: tuple[float, float] | None) -> bool:
    return found is not None and found[0] > 0 and 0 < found[1] <= PRECISE * found[0]

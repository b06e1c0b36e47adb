"""What runs of the same code differ by, beyond what their launches show: estimated from runs that were repeated.

Launches of one run share the state of the machine: where pages lie, which frequencies and neighbours there are. The
cost of a port over that of a callback then differs from run to run by more than the spread between launches explains.
Here the variance of a share between runs, less what its standard errors within the runs explain, is averaged over
ports. A port whose share is known to a tenth of itself tells little of an effect of some percent, and one that is known
to a hundredth much, so each is weighted by the inverse square of the variance that is expected of it: the variance of a
sample variance is in proportion to its own square, which makes this the average of least variance.

Two things make the estimate uncertain. What is common to all ports of a run is taken for one observation of it, so that
three runs leave two degrees of freedom, whatever the number of ports. And errors within runs add a noise of their own,
which averages out over ports. An effect above that noise is *shown*.

What intervals allow for is more than an effect that is shown, because a standard deviation from a few runs is often too
small: a 95% interval that is all run effect would hold the truth in 81% of cases with the point estimate from three
runs, and in 99% with the upper end of its interval, which is six times the estimate and leaves nothing to be told. With
the ratio of Student's t to the normal quantile, 2.2 for three runs, it is 95%. Where none is shown, intervals allow for
the usual one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy import special

from pyopbench.stats.launch_model import RUN_EFFECT
from pyopbench.store.certificate import RunEffect

LEAST_RUNS = 2
PRECISE = 0.2
"""A share whose standard error is above this part of itself has no logarithm to speak of."""
LEVEL = 0.95


def run_effect(runs: Sequence[Mapping[str, tuple[float, float]]]) -> RunEffect | None:
    """Estimate the run effect.

    Args:
        runs: for each run, by id of a port's case, its share of the callback's time and the standard error of that
            within the run.

    Returns:
        None for fewer than `LEAST_RUNS` runs, or without a case that all of them know to `PRECISE`.
    """
    common = [case for case in runs[0] if all(_is_precise(run.get(case)) for run in runs)] if runs else []
    if len(runs) < LEAST_RUNS or not common:
        return None
    shares = np.array([[run[case][0] for case in common] for run in runs])
    errors = np.array([[run[case][1] for case in common] for run in runs]) / shares
    degrees = len(runs) - 1
    explained = (errors**2).mean(axis=0)
    weights = 1 / (RUN_EFFECT**2 + explained) ** 2
    weights /= weights.sum()
    variance = float(weights @ (np.log(shares).var(axis=0, ddof=1) - explained))
    noise = float(special.ndtri((1 + LEVEL) / 2)) * math.sqrt(float(weights**2 @ (2 * explained**2 / degrees)))
    few, many = (degrees / float(special.chdtri(degrees, tail)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return RunEffect(
        deviation=math.sqrt(max(variance, 0.0)),
        low=math.sqrt(max(variance - noise, 0.0) * few),
        high=math.sqrt(max(variance + noise, 0.0) * many),
        allowed=_allowed(variance, degrees) if variance > noise else RUN_EFFECT,
        runs=len(runs),
        cases=len(common),
    )


def _allowed(variance: float, degrees: int) -> float:
    quantiles = float(special.stdtrit(degrees, (1 + LEVEL) / 2)), float(special.ndtri((1 + LEVEL) / 2))
    return math.sqrt(variance) * quantiles[0] / quantiles[1]


def _is_precise(found: tuple[float, float] | None) -> bool:
    return found is not None and found[0] > 0 and 0 < found[1] <= PRECISE * found[0]

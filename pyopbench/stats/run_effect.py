"""What runs of the same code differ by, beyond what their launches show: estimated from runs that were repeated.

Launches of one run share the state of the machine: where pages lie, which frequencies and neighbours there are. The
cost of a port over that of a callback then differs from run to run by more than the spread between launches explains.
Here the variance of a share between runs, less what its standard errors within the runs explain, is averaged over all
ports whose share is known well enough in each run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

LEAST_RUNS = 2
PRECISE = 0.05
"""A share whose standard error is above this part of itself tells nothing of what runs differ by."""
LEVEL = 0.95


@dataclass(frozen=True)
class RunEffect:
    """What ports shift by against callbacks from run to run.

    Attributes:
        deviation: standard deviation between runs, as a part of the share itself.
        low, high: its 95% interval; what is common to all ports of a run is taken for one observation of it.
        runs: how many runs it is from.
        cases: how many ports were known well enough in all of them.
    """

    deviation: float
    low: float
    high: float
    runs: int
    cases: int


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
    low, high = (seen * degrees / float(special.chdtri(degrees, tail)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    explained = seen - variance
    ends = [math.sqrt(max(end - explained, 0.0)) for end in (low, high)]
    return RunEffect(math.sqrt(variance), ends[0], ends[1], len(runs), len(common))


def _is_precise(found: tuple[float, float] | None) -> bool:
    return found is not None and found[0] > 0 and 0 < found[1] <= PRECISE * found[0]

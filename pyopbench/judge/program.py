"""How often the user's program calls an op at each size, as shares of the time that it takes today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyopbench.stats.estimate import Floats
from pyopbench.store.mix_file import Calls


@dataclass(frozen=True, eq=False)
class Mix:
    """Shares of the current time by measured size; what lies between two sizes is read off both."""

    needed: tuple[int, ...]  # the measured sizes that the mix draws on, ascending
    # What the share of the current time at each of them counts for, `(needed,)` float64; sums to 1. A share of the time
    # times seconds afterwards over seconds today is time afterwards, so these are the weights under which such ratios
    # may be averaged.
    pull: Floats


def even_mix(measured: Sequence[int]) -> Mix:
    """Return the mix of someone who has given none: the current time is spread evenly over the log of the size.

    The share of a size is its weight in the trapezoid rule over log(size); all of it for one size alone.
    """
    logs = np.log(np.asarray(measured, dtype=np.float64))
    gaps = np.diff(logs)
    widths = np.append(gaps, 0) + np.insert(gaps, 0, 0) if gaps.size else np.ones(1)
    return Mix(tuple(measured), widths / widths.sum())


def calls_mix(calls: Mapping[int, float], seconds: Mapping[int, float]) -> Mix:
    """Return the mix in which a size is called in proportion to `calls[size]`.

    Args:
        calls: size -> weight, any positive numbers; each size lies between two measured ones.
        seconds: measured size -> seconds per call of the baseline, interpolated between two with both axes in logs.
    """
    sizes, measured = sorted(calls), sorted(seconds)
    places = np.log(np.asarray(measured, dtype=np.float64))
    rows = [np.interp(np.log(sizes), places, column) for column in np.eye(len(measured))]
    weights = np.stack(rows, axis=1)
    at = np.exp(weights @ np.log([seconds[size] for size in measured]))
    shares = np.array([calls[size] for size in sizes]) * at
    columns = [place for place, column in enumerate(weights.T) if np.any(column)]
    return Mix(tuple(measured[place] for place in columns), shares / shares.sum() @ weights[:, columns])


def calls_in(calls: Calls, dtype: str) -> dict[int, float]:
    """Return how often each size is called in a dtype; without dtypes in the mix, in any."""
    pairs = [(key if isinstance(key, tuple) else (dtype, key), weight) for key, weight in calls.items()]
    return {size: weight for (name, size), weight in pairs if name == dtype}

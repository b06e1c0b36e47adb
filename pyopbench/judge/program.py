"""How often the user's program calls an op at each size, as shares of the time that it takes today."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyopbench.model.errors import BadInput
from pyopbench.stats.estimate import Floats
from pyopbench.store.mix_file import Calls

MOST_SHOWN = 8
"""So many sizes that were not measured are named in a message."""


@dataclass(frozen=True, eq=False)
class Mix:
    """Shares of the current time by measured size; what lies between two sizes is read off both.

    Attributes:
        needed: the measured sizes that the mix draws on, ascending.
        pull: what the share of the current time at each of them counts for, `(needed,)` float64; sums to 1. A share of
            the time times seconds afterwards over seconds today is time afterwards, so these are the weights under
            which such ratios may be averaged.
    """

    needed: tuple[int, ...]
    pull: Floats


def even_mix(measured: Sequence[int]) -> Mix:
    """Return the mix of someone who has given none: the current time is spread evenly over the log of the size.

    The share of a size is its weight in the trapezoid rule over log(size); all of it for one size alone.
    """
    logs = np.log(np.asarray(measured, dtype=np.float64))
    gaps = np.diff(logs)
    widths = np.append(gaps, 0) + np.insert(gaps, 0, 0) if gaps.size else np.ones(1)
    return Mix(tuple(measured), widths / widths.sum())


def calls_mix(calls: Mapping[int, float], seconds: Mapping[int, float], what: str) -> Mix:
    """Return the mix in which a size is called in proportion to `calls[size]`.

    Args:
        calls: size -> weight, any positive numbers.
        seconds: measured size -> seconds per call of the baseline, at least one.
        what: whose seconds these are, for the message of the error.

    Returns:
        The mix; the baseline's seconds between two measured sizes are interpolated with both axes in logs.

    Raises:
        BadInput: a size lies outside the measured range.
    """
    sizes, measured = sorted(calls), sorted(seconds)
    outside = [size for size in sizes if not measured[0] <= size <= measured[-1]]
    if outside:
        raise BadInput(
            f"the mix has sizes outside the measured range of {what}",
            received=", ".join(map(str, outside[:MOST_SHOWN])) + (", ..." if len(outside) > MOST_SHOWN else ""),
            legal=f"sizes from {measured[0]} to {measured[-1]}",
            hint="measure these sizes too (--axis size=...), or remove them from the mix",
        )
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

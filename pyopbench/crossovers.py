"""Sizes at which another variant becomes the fastest."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from pyopbench.model import Crossover


def crossovers(curves: pd.DataFrame, minimum_effect: float) -> tuple[Crossover, ...]:
    """Return where the fastest variant changes, in the order of the sizes.

    A change counts if the one before led the one after by more than the minimum effect at some smaller measured size
    and trails it by more than that now; what happens in between is a tie. The curves are straight between measured
    sizes with both axes in logs, and so is their difference, whose zero is the crossover.

    Args:
        curves: seconds per call, one row per size (ascending), one column per label; nan is no number.
        minimum_effect: a relative difference that is worth acting on.
    """
    logs = curves[curves.notna().any(axis=1)].apply(np.log)
    leaders = [str(row.idxmin()) for _, row in logs.iterrows()]
    delta = math.log1p(minimum_effect)
    found: list[Crossover] = []
    before = leaders[0] if leaders else ""
    for place, after in enumerate(leaders):
        lead = (logs[after] - logs[before]).iloc[: place + 1]
        if math.isnan(lead.iloc[-1]):
            before = after
        elif lead.iloc[-1] < -delta:
            if (lead > delta).any():
                found.append(Crossover(before, after, _crossing(lead.loc[lead[lead > delta].index[-1] :].dropna())))
            before = after
    return tuple(found)


def _crossing(lead: pd.Series[float]) -> float:
    """Return the size at which `lead` (by size, positive first) falls to zero, linear in the log of the size."""
    place = int(np.argmax(lead.to_numpy() <= 0))
    (above, below), (left, right) = lead.iloc[place - 1 : place + 1], np.log(lead.index[place - 1 : place + 1])
    return float(math.exp(left + (right - left) * above / (above - below)))

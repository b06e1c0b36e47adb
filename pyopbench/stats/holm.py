"""Probabilities of many tests, adjusted so that the chance of any false rejection stays what it is for one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p values for being many, by the step-down method.

    The i-th smallest of n is multiplied by n - i + 1, never falling below an earlier one nor passing 1. Rejecting what
    is at most a keeps the chance of any false rejection at a or below, whatever the dependence.
    Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6 (1979) 65-70.

    Args:
        p: probabilities in any order.

    Returns:
        The adjusted probabilities, in the order of `p`.
    """
    array = np.asarray(p, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    stepped = np.maximum.accumulate(array[order] * (array.size - np.arange(array.size)))
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in adjusted]

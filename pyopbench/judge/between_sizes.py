"""What two variants differ by between two measured sizes, launch by launch: straight over the log of the size.

Where two change places, dozens of sizes are asked for one after the other, so what they have in common is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pyopbench.stats.estimate import Estimate, Floats
from pyopbench.stats.launch_model import LaunchModel


@dataclass(frozen=True, eq=False)
class BetweenSizes:
    """Two labels between two measured sizes that are next to each other.

    Attributes:
        differences: `(launches, 2)` float64, what the first costs more at either size, in shares of today's time; of
            the launches that have both.
        errors: `(launches, 2)` float64, their standard errors over rounds; nan where it is not known.
        machines: of each launch; none where all were on one.
        shares: what the first and the second leave of today's time at either size.
        moves: of the first and the second, whether it shifts from run to run, as ports do.
        against_baseline: which of the two is the current callback, 0 or 1; None where neither is.
        model: what launches differ by.
        runs: how many runs the launches are of.
    """

    differences: Floats
    errors: Floats
    machines: tuple[str, ...]
    shares: tuple[tuple[float, float], tuple[float, float]]
    moves: tuple[bool, bool]
    against_baseline: int | None
    model: LaunchModel
    runs: int

    def at(self, part: float) -> Estimate:
        """Return the estimate at a part of the way, on the scale of logs, from the smaller size to the larger one."""
        rest = 1 - part
        values = [rest * left + part * right for left, right in self._ends]
        first, second = (rest * left + part * right for left, right in self.shares)
        left, right = self._squares
        variance = self.model.variance(leverage(first, second, self.against_baseline), rest**2 * left + part**2 * right)
        moved = first * self.moves[0] - second * self.moves[1]
        return self.model.estimated(values, self.machines, variance, moved, self.runs)

    @cached_property
    def _ends(self) -> list[Sequence[float]]:
        found: list[Sequence[float]] = self.differences.tolist()
        return found

    @cached_property
    def _squares(self) -> tuple[float, float]:
        """The mean squared error at either size, over the launches in which both are known; 0 without any."""
        known = self.errors[np.isfinite(self.errors).all(axis=1)]
        if not len(known):
            return 0.0, 0.0
        left, right = (known**2).mean(axis=0).tolist()
        return left, right


def leverage(share: float, other: float, baseline: int | None) -> float:
    """Return what the relative variance of a share of one counts for in the difference of two shares.

    A share is a cost over today's, and half of its relative variance is from either. Today's is common to both.

    Args:
        share: what the first leaves of today's time.
        other: what the second leaves.
        baseline: which of the two is the current callback, 0 or 1; None where neither is.
    """
    if baseline is not None:
        return (share if baseline else other) ** 2
    return (share**2 + other**2 + (share - other) ** 2) / 2

"""When the data of a run that goes on are looked at: after the first sweep, then whenever enough has been added."""

from __future__ import annotations

import math

from pyopbench.stats.looks import MOST_LOOKS

LEAST_GROWTH = 2.0
"""Rounds at a look over those at the one before, at the least: less would cost looks that learn little."""
WITHIN_RUN = MOST_LOOKS - 1
"""Looks that decide what is measured on; what is judged when all is measured is the last one."""


class LookTimes:
    """Says when a look is due, by the rounds that all launches together have made."""

    def __init__(self, most: float) -> None:
        """Begin before the first look.

        Args:
            most: rounds of all launches together, if the run is measured to its end.
        """
        self._most = most
        self._growth = 0.0
        self._next = 0.0

    def is_due(self, rounds: float) -> bool:
        """Whether a look is due after so many rounds."""
        return rounds >= self._next

    def note(self, rounds: float, affordable: float = math.inf) -> None:
        """Note that one was held, or would have been, after so many rounds; the looks are spread from the first on.

        Args:
            rounds: of all launches together.
            affordable: how many they will have made when the time is used.
        """
        if self._growth == 0.0:
            most = min(self._most, affordable)
            self._growth = max(LEAST_GROWTH, (most / max(rounds, 1.0)) ** (1 / WITHIN_RUN))
        self._next = rounds * self._growth

    def until(self, rounds: float, launches: int) -> int:
        """Return how many rounds each of so many launches has to make until the next look is due, at least one."""
        return max(math.ceil((self._next - rounds) / launches), 1)

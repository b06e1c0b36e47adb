"""When the data of a run are looked at, and what each look costs: launches come one by one, and each may be the last.

A verdict that may be reached at any of several looks has several chances to be wrong. Each look therefore gets an equal
share of the error (Bonferroni), so a p value counts as many times as there are looks. That holds whatever the
dependence between looks and whatever makes a case stop: of K probabilities that are each too small with a chance of at
most a / K, the one at which somebody stops is too small with a chance of at most a.

Source: spending an error over looks that are planned beforehand is of K. K. G. Lan and D. L. DeMets, "Discrete
sequential boundaries for clinical trials", Biometrika 70 (1983) 659-663; docs/statistics.md says why in equal shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_LOOKS = 5
"""Each look makes all others stricter; with five, a p value has to be a fifth of what one look asks for."""


@dataclass(frozen=True)
class Looks:
    """At how many looks at the data a verdict could be reached."""

    planned: int = 1

    @classmethod
    def of(cls, settings: Mapping[str, Any], held: int) -> Looks:
        """Return the looks that a run is charged for: those that were held, and the one at what is there now.

        A look that was planned and not held has cost nothing: time ended the run, and not the data. What was closed at
        a look was closed with `ALL_LOOKS` charged, so that no number of further ones opens it again.

        Args:
            settings: of the run; one without `first_rounds`, or `first_look` before workers stayed, was looked at once.
            held: how many looks were held while it went on.
        """
        if not {"first_look", "first_rounds"} & set(settings):
            return cls()
        return cls(min(held + 1, MOST_LOOKS))

    def spent(self, p: float) -> float:
        """Return a p value as it counts at one of these looks; above 1 means no more than 1."""
        return self.planned * p

    def share(self, error: float, many: int) -> float:
        """Return the part of an error that is left to one of `many` intervals at one look."""
        return error / (many * self.planned)


ONE_LOOK = Looks()
ALL_LOOKS = Looks(MOST_LOOKS)

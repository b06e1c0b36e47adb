"""Looks at the data of runs that go on: each decides what is measured on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pyopbench.engine.budget import LEAST_LAUNCHES, Budget
from pyopbench.engine.look_times import WITHIN_RUN
from pyopbench.engine.remaining_work import Look, RemainingWork

LookTogether: TypeAlias = Callable[[int], Mapping[Path, frozenset[str]]]
"""Is given how many launches have been sampled in each run, and returns the ids of the cases to measure on, by run."""

MOST_SHARE = 0.2
"""Of the time that is left, which a look may take at the most: it decides how the rest is spent."""


class Looks:
    """Holds looks where they may change what comes and there is time for them."""

    def __init__(
        self,
        works: Sequence[RemainingWork],
        looks: Mapping[Path, Look],
        together: LookTogether | None,
        budget: Budget,
    ) -> None:
        """Begin before the first look.

        Args:
            works: of the runs.
            looks: what says what is left open of each run, by its folder.
            together: what says it of all at once; None where each is looked at by its own.
            budget: the time that there is.
        """
        self._works, self._looks, self._together, self._budget = works, looks, together, budget

    def hold(self, works: Iterable[RemainingWork]) -> None:
        """Look at these runs, or at all at once: then what is open between two of them is measured on in both."""
        if self._together is not None:
            self._hold_together(self._together)
            return
        for work in works:
            if _is_wanted(work) and self._has_time():
                with self._budget.looking():
                    work.narrow(self._looks[work.folder])

    def _hold_together(self, look: LookTogether) -> None:
        if self._has_time() and all(_is_wanted(work) for work in self._works if work.unfailed()):
            with self._budget.looking():
                cases = look(min(work.launches for work in self._works))
                for work in self._works:
                    work.narrow_to(cases[work.folder])

    def _has_time(self) -> bool:
        return self._budget.look_seconds < MOST_SHARE * self._budget.left


def _is_wanted(work: RemainingWork) -> bool:
    return work.settings.until != "end" and work.looks < WITHIN_RUN and work.launches >= LEAST_LAUNCHES

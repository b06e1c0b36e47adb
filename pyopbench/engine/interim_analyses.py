"""Interim analyses of a run that is going on: when they are due, and what of the run they leave to be measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pyopbench.engine.budget import LEAST_LAUNCHES, Budget
from pyopbench.engine.remaining_work import Analyse, RemainingWork
from pyopbench.stats.corrections import MOST_ANALYSES

AnalyseTogether: TypeAlias = Callable[[int, int], Mapping[Path, frozenset[str]]]
"""Is given how many launches have been sampled in each run and how many there may be, and returns the cases to measure
on, by run."""

MOST_SHARE = 0.2
"""Of the time that is left, that an interim analysis may take at most: it decides how the rest is spent."""


class InterimAnalyses:
    """Runs interim analyses, where they may change what is measured next and there is time for them."""

    def __init__(
        self,
        works: Sequence[RemainingWork],
        looks: Mapping[Path, Analyse],
        together: AnalyseTogether | None,
        budget: Budget,
    ) -> None:
        """Begin before the first interim analysis.

        Args:
            works: of the runs.
            looks: what says what is left open of each run, by its folder.
            together: what says it of all at once; None where each is looked at by its own.
            budget: the time that there is.
        """
        self._works, self._looks, self._together, self._budget = works, looks, together, budget

    def hold(self, works: Iterable[RemainingWork]) -> None:
        """Analyse these runs, or all together: then what is open between two runs is measured further in both."""
        if self._together is not None:
            self._hold_together(self._together)
            return
        for work in works:
            # In a pipeline it takes no time, and saves rounds of slow arrangements, each of which takes seconds.
            if _is_wanted(work) and (self._has_time() or work.is_in_pipeline):
                with self._budget.looking():
                    work.narrow(self._looks[work.folder])

    def _hold_together(self, look: AnalyseTogether) -> None:
        if self._has_time() and all(_is_wanted(work) for work in self._works if work.unfailed()):
            with self._budget.looking():
                launches = min(work.launches for work in self._works)
                cases = look(launches, max(work.most_launches for work in self._works))
                for work in self._works:
                    work.narrow_to(cases[work.folder])

    def _has_time(self) -> bool:
        return self._budget.look_seconds < MOST_SHARE * self._budget.left


def _is_wanted(work: RemainingWork) -> bool:
    # What is far from the best in a pipeline is so in every launch.
    least = 1 if work.is_in_pipeline else LEAST_LAUNCHES
    return work.settings.until != "end" and work.looks < WITHIN_RUN and work.launches >= least


LEAST_GROWTH = 2.0
"""Least growth of rounds from one interim analysis to the next: with less, an analysis would learn little."""
WITHIN_RUN = MOST_ANALYSES - 1
"""Interim analyses of a run; the judgement at its end is the last analysis."""


class InterimTimes:
    """Says when an interim analysis is due, by the rounds that all launches together have made."""

    def __init__(self, most: float) -> None:
        """Begin before the first interim analysis.

        Args:
            most: rounds of all launches together, if the run is measured to its end.
        """
        self._most = most
        self._growth = 0.0
        self._next = 0.0

    def is_due(self, rounds: float) -> bool:
        """Whether an interim analysis is due after so many rounds."""
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

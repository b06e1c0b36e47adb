"""Changes in the series of a history: where they lie, how large they are, and what measuring again made of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from scipy import special

from pyopbench.judge.comparison.moments import Axis, Moment
from pyopbench.judge.comparison.reruns import Confirmation, Outcome, Rerun, rerun_of
from pyopbench.judge.comparison.series import Series
from pyopbench.stats.change_points import Change, Segmentation
from pyopbench.stats.estimate import LEVEL
from pyopbench.store.run import Run

Status: TypeAlias = Literal["confirmed", "suspected", "open", "refuted"]
STATUSES: tuple[Status, ...] = ("confirmed", "suspected", "open", "refuted")
"""From what has to be acted on to what has not."""


@dataclass(frozen=True, eq=False)
class Traced:
    """A series with what became of its level."""

    series: Series
    found: Segmentation


@dataclass(frozen=True)
class FoundChange:
    """A change in a series that is as large as the minimum effect.

    Attributes:
        number: of the series in its history.
        place: of the first moment after it, among those of the history.
        before, after: labels of the moments beside it.
        first, last: labels between which the change lies: the first moment that may be after it, and the last.
        ratio: level after over level before.
        low, high: its 95% interval, for the place that was found.
        status: `suspected` until the two moments were measured anew, interleaved; then `confirmed`, `refuted`, or
            `open` where that did not settle it.
        rerun: what would confirm it; None where nothing can be measured anew.
        again: what was measured anew.
    """

    number: int
    place: int
    before: str
    after: str
    first: str
    last: str
    ratio: float
    low: float
    high: float
    status: Status
    rerun: Rerun | None
    again: Outcome | None = None

    @property
    def direction(self) -> Literal["slower", "faster"]:
        """Which way it went."""
        return "slower" if self.ratio > 1 else "faster"


def changes_in(
    axis: Axis, moments: Sequence[Moment], traced: Sequence[Traced], runs: Sequence[Run]
) -> Iterator[FoundChange]:
    """Yield the changes of series, whatever their size, as suspicions."""
    reach = float(special.ndtri((1 + LEVEL) / 2))
    for number, one in enumerate(traced):
        places = one.series.places
        for change in one.found.changes:
            beside = _beside(change, one.series, moments)
            rerun = rerun_of(axis, beside[2], beside[3], one.series, runs)
            labels = [moment.label for moment in beside]
            half = reach * change.error
            yield FoundChange(
                number,
                int(places[change.place]),
                before=labels[0],
                after=labels[1],
                first=moments[places[change.first]].label,
                last=labels[3],
                ratio=math.exp(change.step),
                low=math.exp(change.step - half),
                high=math.exp(change.step + half),
                status="suspected",
                rerun=rerun,
            )


def _beside(change: Change, series: Series, moments: Sequence[Moment]) -> tuple[Moment, Moment, Moment, Moment]:
    """Return the moments right before and after a change, and those between which it lies for all that is known."""
    around = (change.place - 1, change.place, change.first - 1, change.last)
    before, after, earliest, latest = (moments[series.places[place]] for place in around)
    return before, after, earliest, latest


def confirmed(change: FoundChange, series: Series, confirmations: Sequence[Confirmation]) -> FoundChange:
    """Return the change with what came of measuring it anew, the last time that it was."""
    rerun = change.rerun
    outcomes = [one.outcomes.get(series.case) for one in confirmations if rerun is not None and one.answers(rerun)]
    again = next((one for one in reversed(outcomes) if one is not None), None)
    if again is None:
        return change
    if again.outcome == "unresolved":
        return replace(change, status="open", again=again)
    return replace(change, status="confirmed" if again.outcome == change.direction else "refuted", again=again)


def importance(change: FoundChange) -> tuple[int, float, int, str]:
    """Return a sort key: by status, then the largest first."""
    size = math.log(change.ratio)
    return STATUSES.index(change.status), -abs(size), change.number, change.after

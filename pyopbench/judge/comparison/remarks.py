"""What a reader of a history has to know that its changes do not tell, as values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pyopbench.judge.comparison.changes import FoundChange, Traced
from pyopbench.judge.comparison.moments import Axis, moment_of
from pyopbench.stats.change_points import FEWEST_POINTS
from pyopbench.store.limitations import Limitation
from pyopbench.store.run import Run

OTHER_VALUES = "other_values"
"""The part of an environment with the ops that compute otherwise than at the first of interleaved commits."""
FEWEST_SHARING = 3
"""So many series of one anchor have to change at one place before the anchor itself is what has changed."""


@dataclass(frozen=True)
class AnchorChanged:
    """At `after`, `many` of `of` series of one anchor changed in the same direction: it may be the anchor that did."""

    anchor: str
    after: str
    many: int
    of: int
    kind: Literal["anchor_changed"] = "anchor_changed"


@dataclass(frozen=True)
class ValuesChanged:
    """At `after`, `ops` began to compute other values than at the first moment: their times are of another function.

    `until` is the moment from which on they compute as before again; "" where none does.
    """

    after: str
    ops: tuple[str, ...]
    until: str = ""
    kind: Literal["values_changed"] = "values_changed"


@dataclass(frozen=True)
class NotMeasured:
    """Nothing could be measured of the revision `label`, for this `reason`: a series goes past it."""

    label: str
    reason: str
    kind: Literal["not_measured"] = "not_measured"


@dataclass(frozen=True)
class OnlyLatency:
    """`many` of `of` series are latencies: what the machine did at a moment is in them, and looks like a change."""

    many: int
    of: int
    kind: Literal["only_latency"] = "only_latency"


@dataclass(frozen=True)
class RunsNotInterleaved:
    """`many` series are of runs that were not interleaved, which differ by more than their launches tell."""

    many: int
    of: int
    kind: Literal["runs_not_interleaved"] = "runs_not_interleaved"


@dataclass(frozen=True)
class TooShort:
    """`many` series have fewer than `fewest` points and were not searched for changes."""

    many: int
    fewest: int
    kind: Literal["too_short"] = "too_short"


@dataclass(frozen=True)
class SmallChanges:
    """`many` changes are smaller than the minimum effect and are not listed."""

    many: int
    minimum_effect: float
    kind: Literal["small_changes"] = "small_changes"


Remark: TypeAlias = (
    NotMeasured
    | ValuesChanged
    | AnchorChanged
    | OnlyLatency
    | RunsNotInterleaved
    | TooShort
    | SmallChanges
    | Limitation
)
"""Something that a reader has to know, as a value."""


def remarks_of(
    traced: Sequence[Traced], changes: Sequence[FoundChange], small: Sequence[float], runs: Sequence[Run]
) -> Iterator[Remark]:
    """Yield what is to be said of some series.

    Args:
        traced: the series.
        changes: those that are listed.
        small: the minimum effect, for each change that is smaller.
        runs: where they come from.
    """
    yield from _anchors_changed(traced, changes)
    many = len(traced)
    latencies = sum(one.series.measure == "latency" for one in traced)
    if latencies:
        yield OnlyLatency(latencies, many)
    apart = sum(one.series.noise == "autocorrelated" for one in traced)
    if apart:
        yield RunsNotInterleaved(apart, many)
    short = sum(math.isinf(one.found.threshold) for one in traced)
    if short:
        yield TooShort(short, FEWEST_POINTS)
    if small:
        yield SmallChanges(len(small), small[0])
    yield from dict.fromkeys(one for run in runs for one in run.cannot)


def values_changed(axis: Axis, sources: Sequence[Sequence[Run]]) -> Iterator[ValuesChanged]:
    """Yield where ops began to compute otherwise, and where they ceased to, in runs that were interleaved."""
    for runs in sources:
        labels = [moment_of(axis, run).label for run in runs]
        others = [set(run.environment.get(OTHER_VALUES, ())) for run in runs]
        together: dict[tuple[int, str], list[str]] = {}
        for op in sorted(set().union(*others)):
            differ = [op in some for some in others]
            for place in (place for place, one in enumerate(differ) if one and not (place and differ[place - 1])):
                until = next((labels[end] for end in range(place, len(runs)) if not differ[end]), "")
                together.setdefault((place, until), []).append(op)
        yield from (ValuesChanged(labels[place], tuple(ops), until) for (place, until), ops in sorted(together.items()))


def _anchors_changed(traced: Sequence[Traced], changes: Sequence[FoundChange]) -> Iterator[AnchorChanged]:
    """Yield the anchors whose series changed together: a ratio moves as well where its denominator does."""
    of: dict[str, int] = {}
    for one in traced:
        if one.series.anchored_to == "variant":
            of[one.series.anchor] = of.get(one.series.anchor, 0) + 1
    together: dict[tuple[str, str, str], int] = {}
    for change in changes:
        series = traced[change.number].series
        if series.anchored_to == "variant":
            key = (series.anchor, change.after, change.direction)
            together[key] = together.get(key, 0) + 1
    for (anchor, after, _), many in together.items():
        if many >= FEWEST_SHARING and 2 * many > of[anchor]:
            yield AnchorChanged(anchor, after, many, of[anchor])

"""Series over commits, versions or dates: points of one case, one clock and one environment, along an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pyopbench.judge.comparison.case_key import environment_name
from pyopbench.judge.comparison.moments import Axis, Moment, in_order, moment_of
from pyopbench.judge.comparison.points import Anchor, Measure, Point, are_interleaved, fields_of, points_of_sources
from pyopbench.stats.change_points import Noise, between_runs
from pyopbench.store.run import Run

Floats: TypeAlias = npt.NDArray[np.float64]

APART: Mapping[Axis, tuple[str, ...]] = {
    "commit": ("machine", "cpu", "tensorflow", "environment"),
    "tf": ("machine", "cpu", "commit"),
    "date": ("machine", "cpu", "tensorflow", "environment"),
}
"""What points of one series have in common, by axis: parts of the environment."""
SMALLEST_ERROR = 1e-4
"""A hundredth of a percent: no clock tells less of a call, and points are weighted by one over its square."""


@dataclass(frozen=True, eq=False)
class Series:
    """The points of one case.

    Attributes:
        case: id of the case, or name of the benchmark.
        fields: parts of the case by name, `variant` as its label; none for a benchmark of another suite.
        environment: name and value of what tells it from other series of the same case.
        tool: what measured it; ratios and latencies of several tools are never in one series.
        measure: what a value is the log of.
        anchor: what a ratio is to: label of a moment, or id of a case; "" for a latency.
        anchored_to: which of these `anchor` is.
        noise: `independent` if all points were measured interleaved.
        between: what runs are taken to differ by beyond their launches, one standard deviation; 0 if interleaved.
        places: `(n,)` of the points among the moments of the history, ascending.
        values: `(n,)` float64.
        errors: `(n,)` float64, by which changes are judged: of the launches, and of `between`.
        lows, highs: `(n,)` float64, 95% intervals of what launches tell; nan where they do not.
        launches: `(n,)`.
    """

    case: str
    fields: Mapping[str, str]
    environment: tuple[tuple[str, str], ...]
    tool: str
    measure: Measure
    anchor: str
    anchored_to: Anchor
    noise: Noise
    between: float
    places: npt.NDArray[np.intp]
    values: Floats
    errors: Floats
    lows: Floats
    highs: Floats
    launches: npt.NDArray[np.int64]

    @property
    def name(self) -> str:
        """The case, with what tells it from other series of it."""
        return f"{self.case} in {environment_name(self.environment)}" if self.environment else self.case


@dataclass(frozen=True)
class _Placed:
    """A point with what its series is told by."""

    point: Point
    place: int
    source: int
    environment: tuple[tuple[str, str], ...]
    run: Run


def series_of(
    sources: Sequence[Sequence[Run]], axis: Axis, run_spread: float
) -> tuple[tuple[Moment, ...], tuple[Series, ...]]:
    """Return the moments of some sources in order, and the series over them.

    Args:
        sources: the runs of each; those of one source may have been measured interleaved.
        axis: what the moments are.
        run_spread: what runs that were not interleaved are taken to differ by, where they are too few to tell.
    """
    read = [[moment_of(axis, run) for run in runs] for runs in sources]
    every = list(dict.fromkeys(moment for moments in read for moment in moments))
    # Commits of one interleaved run are in their order, which dates of rebased commits are not.
    kept = len(sources) == 1 and are_interleaved(sources[0])
    moments = tuple(every if kept else in_order(axis, every))
    place_of = {moment: place for place, moment in enumerate(moments)}
    found: dict[tuple[object, ...], list[_Placed]] = {}
    points_of_each = points_of_sources(sources, [[moment.label for moment in named] for named in read])
    for source, (runs, named, points) in enumerate(zip(sources, read, points_of_each, strict=True)):
        environments, places = [_environment(axis, run) for run in runs], [place_of[moment] for moment in named]
        for point in points:
            run, environment = runs[point.number], environments[point.number]
            placed = _Placed(point, places[point.number], source, environment, run)
            key = (run.tool, point.case, point.kind, point.anchor, environment)
            found.setdefault(key, []).append(placed)
    shared = _shared([placed[0].environment for placed in found.values()])
    return moments, tuple(_series(sources, placed, shared, run_spread) for placed in found.values())


def _environment(axis: Axis, run: Run) -> tuple[tuple[str, str], ...]:
    told = ((name, run.environment.get(name)) for name in APART[axis])
    return tuple((name, str(value)) for name, value in told if value)


def _shared(environments: Sequence[tuple[tuple[str, str], ...]]) -> set[tuple[str, str]]:
    """Return what all series have in common, which needs no telling."""
    first, *others = (set(one) for one in environments) if environments else (set(),)
    return first.intersection(*others)


def _series(
    sources: Sequence[Sequence[Run]], placed: Sequence[_Placed], shared: set[tuple[str, str]], run_spread: float
) -> Series:
    placed = sorted(placed, key=lambda one: one.place)
    points = [one.point for one in placed]
    first = placed[0]
    columns = zip(*((one.value, one.error, one.low, one.high) for one in points), strict=True)
    values, errors, lows, highs = (np.array(column, dtype=np.float64) for column in columns)
    one_source = len({one.source for one in placed}) == 1 and are_interleaved(sources[first.source])
    together = one_source and bool((errors > 0).all())  # a single launch does not tell what launches differ by
    between = 0.0 if together else between_runs(values, errors, run_spread)
    return Series(
        case=first.point.case,
        fields=fields_of(first.run, first.point.case),
        environment=tuple(one for one in first.environment if one not in shared),
        tool=first.run.tool,
        measure="ratio" if first.point.anchor else "latency",
        anchor=first.point.anchor,
        anchored_to=first.point.kind,
        noise="independent" if together else "autocorrelated",
        between=between,
        places=np.array([one.place for one in placed], dtype=np.intp),
        values=values,
        errors=np.maximum(np.hypot(errors, between), SMALLEST_ERROR),
        lows=lows,
        highs=highs,
        launches=np.array([one.launches for one in points], dtype=np.int64),
    )

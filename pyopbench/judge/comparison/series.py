"""Series over commits, versions or dates: points of one case, one clock and one environment, along an axis."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from pyopbench.judge.comparison.sides import are_interleaved, sweep_logs
from pyopbench.judge.latencies import (
    baseline_of,
    checked_frame,
    label_of,
    measured_cases,
    usual_gradients,
    with_pipeline,
)
from pyopbench.judge.verdicts import not_above_zero
from pyopbench.model import formatting
from pyopbench.model.case import Case
from pyopbench.model.printable import printable
from pyopbench.stats import costs, estimate
from pyopbench.stats.change_points import SMALLEST_ERROR, Noise, between_runs
from pyopbench.stats.estimate import Estimate, Launches
from pyopbench.stats.unpaired import RUN_SPREAD
from pyopbench.store.measured_run import Run
from pyopbench.store.run import short_hash

Axis: TypeAlias = Literal["commit", "tf", "date"]
LONGEST_LABEL = 40
UNKNOWN = "unknown"

Floats: TypeAlias = npt.NDArray[np.float64]
Measure: TypeAlias = Literal["ratio", "latency"]
Anchor: TypeAlias = Literal["moment", "variant", ""]

COLUMNS = ("tool", "launch", "case", "mode", "round", "calls", "seconds", "copies", "floor_seconds")
"""What the log of a launch is made of, besides the run."""
PASSES = 20
SETTLED = 1e-9
"""Effects of blocks and moments are averaged in turns until they move by no more than this."""

APART: Mapping[Axis, tuple[str, ...]] = {
    "commit": ("machine", "cpu", "tensorflow", "environment"),
    "tf": ("machine", "cpu", "commit"),
    "date": ("machine", "cpu", "tensorflow", "environment"),
}
"""What points of one series have in common, by axis: parts of the environment."""


@dataclass(frozen=True)
class Moment:
    """One place on the axis.

    Attributes:
        label: what the axis shows: the first digits of a commit, a version, or a date.
        value: the whole of it, by which it is named in a command.
        date: of the commit if that is known, else of the run; ISO 8601, "" where neither is.
        run: the run that it was measured in.
        subject: first line of the commit's message; "" where it is not known.
    """

    label: str
    value: str
    date: str
    run: str
    subject: str = ""


def usual_axis(sources: Sequence[Sequence[Run]]) -> Axis:
    """Return what the runs differ in: commits if there are several, else versions of TensorFlow, else dates."""
    runs = [run for source in sources for run in source]
    for axis in ("commit", "tf"):
        if len({value_on(axis, run) for run in runs} - {UNKNOWN}) > 1:
            return axis
    return "date"


def moment_of(axis: Axis, run: Run) -> Moment:
    """Return where on the axis a run is."""
    value = value_on(axis, run)
    committed = str(run.environment.get("commit_date") or "") if axis == "commit" else ""
    subject = str(run.environment.get("commit_subject") or "") if axis == "commit" else ""
    return Moment(_label(axis, value), value, committed or run.created, run.name, printable(subject))


def value_on(axis: str, run: Run) -> str:
    """Return the commit, version or date of a run."""
    if axis == "date":
        return run.created or UNKNOWN
    found = run.environment.get("commit" if axis == "commit" else "tensorflow")
    return str(found) if found else UNKNOWN


def in_order(axis: Axis, moments: Sequence[Moment]) -> list[Moment]:
    """Return moments from the oldest to the newest; versions by their numbers; what is equal stays in its order."""
    if axis == "tf":
        return sorted(moments, key=lambda one: ([int(part) for part in re.findall("[0-9]{1,9}", one.value)], one.date))
    return sorted(moments, key=lambda one: _seconds(one.date))


def _label(axis: Axis, value: str) -> str:
    if axis == "commit":
        value = short_hash(value)
    return printable(value[:16].replace("T", " ") if axis == "date" else value[:LONGEST_LABEL])


def _seconds(date: str) -> float:
    """Return a date as seconds; what is no date comes first."""
    try:
        return formatting.seconds_of(date)
    except ValueError:
        return 0.0


@dataclass(frozen=True)
class Point:
    """What was measured of a case at a moment.

    Attributes:
        case: id of the case, or name of the benchmark.
        number: of the run in its source.
        anchor: label of the moment, or id of the case, that a ratio is to; "" for a latency.
        kind: of what `anchor` is.
        value: log of the ratio, or of seconds of a call.
        error: its standard error, without what is common to all points of the source; 0 where launches do not show it.
        low, high: ends of the 95% interval over launches; nan without one.
        launches: that it is made of.
    """

    case: str
    number: int
    anchor: str
    kind: Anchor
    value: float
    error: float
    low: float
    high: float
    launches: int


def points_of(runs: Sequence[Run], labels: Sequence[str]) -> Iterator[Point]:
    """Yield the points of one source.

    Args:
        runs: of the source, in order.
        labels: what their moments are called.
    """
    if are_interleaved(runs):
        yield from _against_first(runs, labels)
    else:
        for number, run in enumerate(runs):
            yield from _of_one(run, number)


def points_of_sources(sources: Sequence[Sequence[Run]], labels: Sequence[Sequence[str]]) -> Iterator[list[Point]]:
    """Yield the points of each of many sources, as `points_of`; files of other tools are taken together.

    pandas takes as long for one of them as for hundreds, and a history has thousands.
    """
    together = {place: runs[0] for place, runs in enumerate(sources) if len(runs) == 1 and _is_one_launch(runs[0])}
    points = iter(_of_one_launch(list(together.values())))
    for place, (runs, named) in enumerate(zip(sources, labels, strict=True)):
        yield next(points) if place in together else list(points_of(runs, named))


def _is_one_launch(run: Run) -> bool:
    """Whether a run is of another tool, which has a single launch and no graphs of copies."""
    return run.tool != "pyopbench" and not any((part["mode"] == costs.MODE).any() for part in _parts(run))


def _of_one_launch(runs: Sequence[Run]) -> list[list[Point]]:
    """Return the points of runs of a single launch, which shows no error."""
    parts = [(place, part) for place, run in enumerate(runs) for part in _parts(run)]
    found: list[list[Point]] = [[] for _ in runs]
    if not parts:
        return found
    frame = pd.DataFrame({name: np.concatenate([part[name].to_numpy() for _, part in parts]) for name in COLUMNS})
    frame["run"] = np.repeat([place for place, _ in parts], [len(part) for _, part in parts])  # names may be the same
    logs = estimate.launch_logs(frame)
    for case, place, value in zip(logs["case"], logs["run"], logs["value"], strict=True):
        found[place].append(Point(str(case), 0, "", "", value, 0.0, math.nan, math.nan, 1))
    return found


def fields_of(run: Run, case: str) -> dict[str, str]:
    """Return the parts of a case by name, with its `label`; nothing for a benchmark of another suite."""
    if case not in run.cases:
        return {}
    found = Case.from_id(case)
    parts = {name: str(getattr(found, name)) for name in ("op", "direction", "mode", "dtype", "size", "placement")}
    return {**parts, "variant": label_of(run.catalogue, found.variant, found.gradient)}


def _of_one(run: Run, number: int) -> Iterator[Point]:
    """Yield the points of a run by itself: ratios to its baseline where there is one, else latencies."""
    frame = _samples(run)
    logs = estimate.launch_logs(frame)
    small = not_above_zero(frame, logs)
    anchors = _anchors(run)
    paired = estimate.paired_logs(frame, anchors) if anchors else logs.iloc[:0]
    alone = logs[~logs["case"].isin([*anchors, *small])]
    for measured, of in ((paired[~paired["case"].isin(list(small))], anchors), (alone, dict[str, str]())):
        found = estimate.launches_by_case(measured)
        for case, one in zip(found, estimate.moderated(list(found.values())), strict=True):
            anchor = of.get(case, "")
            kind: Anchor = "variant" if anchor else ""
            yield Point(case, number, anchor, kind, one.mean, _error(one), *one.interval(), one.n)


def _against_first(runs: Sequence[Run], labels: Sequence[str]) -> Iterator[Point]:
    """Yield the points of runs that were measured in turns, as ratios to the first that has the case."""
    wide = _paired_with_first(runs, [_launches(run) for run in runs])
    cases = dict.fromkeys(str(case) for one in wide for case in one.columns)
    tables = {case: _table(wide, case) for case in cases}
    effects = {case: _effects(table) for case, table in tables.items()}
    usual = iter(estimate.moderated([one for found in effects.values() for one in found]))
    for case, table in tables.items():
        moderated = [next(usual) for _ in effects[case]]
        first = next(place for place, one in enumerate(moderated) if one.n)
        pairs = estimate.moderated([table.launches(column - table.logs[:, first]) for column in table.logs.T])
        for number, (one, pair) in enumerate(zip(moderated, pairs, strict=True)):
            if one.n:
                ends = (0.0, 0.0) if number == first else pair.interval()
                value = one.mean - moderated[first].mean
                yield Point(case, number, labels[first], "moment", value, _error(one), *ends, one.n)


def _error(one: Estimate) -> float:
    return one.standard_error if one.n > 1 else 0.0


def _samples(run: Run) -> pd.DataFrame:
    """Return the samples of cases that were never found wrong, and those of benchmarks that are no cases."""
    parts = _parts(run)
    return pd.concat(parts, ignore_index=True) if parts else run.frame


def _parts(run: Run) -> list[pd.DataFrame]:
    return [part for part in (checked_frame(with_pipeline(run)), run.others) if len(part)]


def _anchors(run: Run) -> Mapping[str, str]:
    if run.tool != "pyopbench":
        return {}
    baseline = run.settings.baseline
    cases = measured_cases(checked_frame(run), run.catalogue)
    return baseline_of(cases, baseline, usual_gradients(run.catalogue, baseline))


def _launches(run: Run) -> pd.DataFrame:
    """Return the log of each launch, a row for each launch and a column for each case."""
    frame = _samples(run)
    logs = estimate.launch_logs(frame)
    logs = logs[~logs["case"].isin(list(not_above_zero(frame, logs)))]
    return logs.pivot(index="launch", columns="case", values="value")


def _paired_with_first(runs: Sequence[Run], wide: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the launches with what each differs by from that of the first run, where both have a number, by sweep.

    A core that is slow during a sweep slows both down, so that it cancels.
    """
    first, *others = [_samples(run) for run in runs]
    found = [wide[0]]
    for frame, logs in zip(others, wide[1:], strict=True):
        ratios = sweep_logs(first, frame).pivot(index="block", columns="case", values="value")
        paired = (wide[0] + ratios).reindex(index=logs.index, columns=logs.columns)
        found.append(paired.combine_first(logs))
    return found


@dataclass(frozen=True)
class _Table:
    """What launches of interleaved runs say of a case.

    Attributes:
        logs: `(launches, runs)` float64; nan where there is none.
    """

    logs: Floats

    def launches(self, values: Floats) -> Launches:
        """Return one value per launch, without those that are nan."""
        return Launches(values[np.isfinite(values)])


def _table(wide: Sequence[pd.DataFrame], case: str) -> _Table:
    columns: list[Any] = [one.get(case, pd.Series(dtype="float64")).rename(place) for place, one in enumerate(wide)]
    found = pd.concat(columns, axis=1)
    return _Table(found.to_numpy(dtype="float64"))


def _effects(table: _Table) -> list[Launches]:
    """Return what each run adds to its blocks, over the launches that it has.

    What a block adds to all of its runs is common to them and no error of any; it is estimated from them, which leaves
    less than the whole of their scatter.
    """
    logs, there = table.logs, np.isfinite(table.logs)
    runs = np.zeros(logs.shape[1])
    for _ in range(PASSES):
        blocks = _means(np.where(there, logs - runs, np.nan), axis=1)
        before, runs = runs, _means(np.where(there, logs - blocks[:, None], np.nan), axis=0)
        if np.nanmax(np.abs(runs - before), initial=0.0) < SETTLED:
            break
    many = max(int(there.any(axis=0).sum()), 2)
    factor = (many / (many - 1)) ** 0.5
    found = [table.launches(column).values for column in (logs - blocks[:, None]).T]
    return [Launches(one.mean() + factor * (one - one.mean()) if one.size else one) for one in found]


def _means(values: Floats, axis: int) -> Floats:
    """Return means of what is a number; 0 where nothing is."""
    count = np.isfinite(values).sum(axis=axis)
    found: Floats = np.nansum(values, axis=axis) / np.maximum(count, 1)
    return found


@dataclass(frozen=True, eq=False)
class Series:
    """The points of one case.

    Attributes:
        case: id of the case, or name of the benchmark.
        fields: parts of the case by name, `variant` as its label; none for a benchmark of another suite.
        environment: names and values that distinguish it from other series of the same case.
        tool: what measured it; ratios and latencies of several tools are never in one series.
        measure: what a value is the log of.
        anchor: what a ratio is to: label of a moment, or id of a case; "" for a latency.
        anchored_to: which of these `anchor` is.
        noise: `independent` if all points were measured interleaved.
        between: what runs are taken to differ by beyond their launches, one standard deviation; 0 if interleaved.
        places: `(n,)` of the points among the moments of the history, ascending.
        values: `(n,)` float64.
        errors: `(n,)` float64, by which changes are judged: of the launches, and of `between`.
        lows, highs: `(n,)` float64, 95% intervals over launches; nan without one.
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
        """The case, with what distinguishes it from other series of that case."""
        words = [f"TensorFlow {value}" if name == "tensorflow" else value for name, value in self.environment]
        return f"{self.case} in {' '.join(words)}" if words else self.case

    def measure_text(self) -> str:
        """Return what the values of a series are."""
        if self.measure == "latency":
            return "time per call"
        if self.anchored_to == "moment":
            return f"time relative to {self.anchor}"
        return f"time relative to {self.anchor}, timed in the same rounds"


@dataclass(frozen=True)
class _Placed:
    """A point with the identity of its series."""

    point: Point
    place: int
    source: int
    environment: tuple[tuple[str, str], ...]
    run: Run


def series_of(sources: Sequence[Sequence[Run]], axis: Axis) -> tuple[tuple[Moment, ...], tuple[Series, ...]]:
    """Return the moments of some sources in order, and the series over them.

    Args:
        sources: the runs of each; those of one source may have been measured interleaved.
        axis: what the moments are.
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
    return moments, tuple(_series(sources, placed, shared) for placed in found.values())


def _environment(axis: Axis, run: Run) -> tuple[tuple[str, str], ...]:
    told = ((name, run.environment.get(name)) for name in APART[axis])
    return tuple((name, str(value)) for name, value in told if value)


def _shared(environments: Sequence[tuple[tuple[str, str], ...]]) -> set[tuple[str, str]]:
    """Return what all series have in common, which is not printed for each."""
    first, *others = (set(one) for one in environments) if environments else (set(),)
    return first.intersection(*others)


def _series(sources: Sequence[Sequence[Run]], placed: Sequence[_Placed], shared: set[tuple[str, str]]) -> Series:
    placed = sorted(placed, key=lambda one: one.place)
    points = [one.point for one in placed]
    first = placed[0]
    columns = zip(*((one.value, one.error, one.low, one.high) for one in points), strict=True)
    values, errors, lows, highs = (np.array(column, dtype=np.float64) for column in columns)
    one_source = len({one.source for one in placed}) == 1 and are_interleaved(sources[first.source])
    together = one_source and bool((errors > 0).all())  # a single launch does not tell what launches differ by
    between = 0.0 if together else between_runs(values, errors, RUN_SPREAD)
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

"""Results over commits or dates: a series for each case, the changes of its level, and what would confirm each.

A point is a ratio to the current callback where that was timed in the same rounds, so that a slower machine cancels;
else it is a latency. Points of different machines, processors or versions of TensorFlow are separate series.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from pyopbench.judge.comparison.diff import Note
from pyopbench.judge.comparison.sides import side_of
from pyopbench.judge.latencies import baseline_of, checked_frame, measured_cases, usual_gradients
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT, Case
from pyopbench.model.errors import NothingMeasured
from pyopbench.model.files import real_path
from pyopbench.model.formatting import printable
from pyopbench.stats import costs, estimate
from pyopbench.stats.change_points import (
    ALARM_RATE,
    FEWEST_POINTS,
    SMALLEST_ERROR,
    Segmentation,
    between_runs,
    segment,
)
from pyopbench.stats.estimate import LEVEL, UNIT, Floats
from pyopbench.stats.unpaired import RUN_SPREAD
from pyopbench.store.caveats import Caveat
from pyopbench.store.measured_run import Run
from pyopbench.store.merge import bare_command
from pyopbench.store.own_runs import OF_USER
from pyopbench.store.read import read_source
from pyopbench.store.run import is_run, open_run, short_hash
from pyopbench.store.types import Side

Axis: TypeAlias = Literal["commit", "date"]
Measure: TypeAlias = Literal["ratio", "latency"]
Facts: TypeAlias = tuple[tuple[str, str], ...]

MOMENTS: dict[Axis, tuple[str, str]] = {"commit": ("commit", "commits"), "date": ("run", "runs")}
"""What a moment is called, and several."""
CHANGES_CAPTION = "Suspected changes, the largest first"
RERUN = "Commands that measure both sides of suspected changes again, interleaved:"
LONGEST_LABEL = 40
UNKNOWN = "unknown"
APART = ("machine", "cpu", "tensorflow", "environment")
"""Parts of the environment that all points of one series have in common."""
COLUMNS = ("tool", "launch", "case", "mode", "round", "calls", "seconds", "copies", "floor_seconds")
"""What the log of a launch is made of, besides the run."""
COMMIT = re.compile("[0-9a-f]{7,64}")
"""The hash of a commit. `WORKTREE` is left out: the files may have changed since."""
FEWEST_SHARING = 3
"""Series of one anchor that have to change at one place before the anchor itself counts as changed."""


@dataclass(frozen=True)
class Moment:
    """One place on the axis.

    Attributes:
        label: what the axis shows: the first digits of a commit, or a date.
        value: the whole of it, by which it is named in a command.
        date: of the commit if that is known, else of the run; ISO 8601, "" where neither is.
        subject: first line of the commit's message; "" where it is not known.
    """

    label: str
    value: str
    date: str
    subject: str = ""


def usual_axis(runs: Sequence[Run]) -> Axis:
    """Return what the runs differ in: commits if there are several, else dates."""
    return "commit" if len({_value_on("commit", run) for run in runs} - {UNKNOWN}) > 1 else "date"


def moment_of(axis: Axis, run: Run) -> Moment:
    """Return where on the axis a run is."""
    value = _value_on(axis, run)
    if axis == "date":
        return Moment(printable(value[:16].replace("T", " ")), value, run.created)
    date, subject = (str(run.environment.get(f"commit_{name}") or "") for name in ("date", "subject"))
    return Moment(printable(short_hash(value)[:LONGEST_LABEL]), value, date or run.created, printable(subject))


def _value_on(axis: Axis, run: Run) -> str:
    return str((run.created if axis == "date" else run.environment.get("commit")) or UNKNOWN)


def _seconds(date: str) -> float:
    """Return a date as seconds; what is no date comes first."""
    try:
        return formatting.seconds_of(date)
    except ValueError:
        return 0.0


@dataclass(frozen=True)
class Point:
    """What was measured of a case in a run.

    Attributes:
        case: its id, or the name of the benchmark.
        run: number of the run.
        anchor: id of the case that a ratio is to; "" for a latency.
        value: log of the ratio, or of seconds of a call.
        error: its standard error; 0 where launches do not show it.
        low, high: ends of the 95% interval over launches; nan without one.
        launches: that it is made of.
    """

    case: str
    run: int
    anchor: str
    value: float
    error: float
    low: float
    high: float
    launches: int


def points_of(runs: Sequence[Run]) -> Iterator[Point]:
    """Yield the points of some runs; those of other tools are taken together.

    pandas takes as long for one file of another tool as for hundreds, and a history has thousands.
    """
    foreign = {number: run for number, run in enumerate(runs) if run.tool != "pyopbench"}
    yield from _points(foreign, {})
    for number, run in enumerate(runs):
        if number not in foreign:
            baseline = run.settings.baseline
            cases = measured_cases(checked_frame(run), run.catalogue)
            yield from _points({number: run}, baseline_of(cases, baseline, usual_gradients(run.catalogue, baseline)))


def _points(runs: Mapping[int, Run], anchors: Mapping[str, str]) -> Iterator[Point]:
    """Yield the points of runs: ratios of the cases that have an anchor, latencies of all others."""
    parts = [side_of("", run).frame[list(COLUMNS)].assign(run=number) for number, run in runs.items()]
    if not parts:
        return
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.assign(case=frame["case"].astype(str))
    logs = estimate.launch_logs(frame)
    alone = logs[~logs["case"].isin(list(anchors))]
    paired = estimate.paired_logs(frame, anchors) if anchors else logs.iloc[:0]
    small = _not_above_zero(frame, logs)
    for measured, of in ((paired, anchors), (alone, dict[str, str]())):
        for number, rows in measured.groupby("run"):
            launches = estimate.launches_by_case(rows)
            known = {case: one for case, one in launches.items() if (case, number) not in small}
            for case, one in zip(known, estimate.moderated(list(known.values())), strict=True):
                error = one.standard_error if one.n > 1 else 0.0
                yield Point(case, int(str(number)), of.get(case, ""), one.mean, error, *one.interval(), one.n)


def _not_above_zero(frame: pd.DataFrame, logs: pd.DataFrame) -> set[tuple[str, int]]:
    """Return the cases of mode node, each with its run, whose cost is not above zero in some launch of it.

    The launches in which it is would be a choice of the slow ones (`verdicts.not_above_zero`).
    """
    nodes = frame[(frame["mode"] == costs.MODE) & (frame["copies"] > 0)]
    measured = nodes[["case", *UNIT]].drop_duplicates().groupby(["case", "run"]).size()
    above = logs.groupby(["case", "run"]).size().reindex(measured.index, fill_value=0)
    return {(str(case), int(run)) for case, run in measured.index[measured > above]}


@dataclass(frozen=True, eq=False)
class Series:
    """The points of one case, and the levels of them.

    Attributes:
        case: its id, or the name of the benchmark.
        environment: names and values that distinguish it from other series of the same case.
        tool: what measured it.
        anchor: id of the case that a ratio is to; "" for a latency.
        between: what runs are taken to differ by beyond their launches, one standard deviation.
        runs: `(n,)` of the points, their numbers.
        places: `(n,)` of the points among the moments of the history, ascending.
        values: `(n,)` float64, logs of the ratio or of the seconds of a call.
        errors: `(n,)` float64, by which changes are judged: of the launches, and of `between`.
        lows, highs: `(n,)` float64, 95% intervals over launches; nan without one.
        launches: `(n,)`.
        found: its levels and the changes between them.
    """

    case: str
    environment: Facts
    tool: str
    anchor: str
    between: float
    runs: npt.NDArray[np.intp]
    places: npt.NDArray[np.intp]
    values: Floats
    errors: Floats
    lows: Floats
    highs: Floats
    launches: npt.NDArray[np.int64]
    found: Segmentation

    @property
    def measure(self) -> Measure:
        """What a value is the log of."""
        return "ratio" if self.anchor else "latency"

    @property
    def name(self) -> str:
        """The case, with what distinguishes it from other series of that case."""
        words = [f"TensorFlow {value}" if name == "tensorflow" else value for name, value in self.environment]
        return f"{self.case} in {' '.join(words)}" if words else self.case

    def measure_text(self) -> str:
        """Return what the values of a series are."""
        return f"time relative to {self.anchor}, timed in the same rounds" if self.anchor else "time per call"


def series_of(runs: Sequence[Run], axis: Axis) -> tuple[tuple[Moment, ...], tuple[Series, ...]]:
    """Return the moments of some runs, from the oldest to the newest, and the series over them, by name."""
    of_run = [moment_of(axis, run) for run in runs]
    moments = tuple(sorted(dict.fromkeys(of_run), key=lambda one: _seconds(one.date)))
    place_of = {moment: place for place, moment in enumerate(moments)}
    environments: list[Facts] = [
        tuple((name, str(value)) for name in APART if (value := run.environment.get(name))) for run in runs
    ]
    shared = set(environments[0]).intersection(*environments) if environments else set()
    found: dict[tuple[str, Facts, str, str], list[Point]] = {}
    for point in points_of(runs):
        environment = tuple(one for one in environments[point.run] if one not in shared)
        found.setdefault((point.case, environment, runs[point.run].tool, point.anchor), []).append(point)
    places = [place_of[moment] for moment in of_run]
    series = (_series(key, sorted(points, key=lambda one: places[one.run]), places) for key, points in found.items())
    return moments, tuple(sorted(series, key=lambda one: (one.name, one.anchor)))


def _series(key: tuple[str, Facts, str, str], points: Sequence[Point], places: Sequence[int]) -> Series:
    table = pd.DataFrame(points)
    values, errors, lows, highs = (table[name].to_numpy("float64") for name in ("value", "error", "low", "high"))
    between = between_runs(values, errors, RUN_SPREAD)
    errors = np.maximum(np.hypot(errors, between), SMALLEST_ERROR)
    return Series(
        *key,
        between,
        runs=table["run"].to_numpy(np.intp),
        places=np.array([places[one.run] for one in points], dtype=np.intp),
        values=values,
        errors=errors,
        lows=lows,
        highs=highs,
        launches=table["launches"].to_numpy(np.int64),
        found=segment(values, errors, between),
    )


@dataclass(frozen=True)
class FoundChange:
    """A change in a series.

    Attributes:
        number: of the series in its history.
        place: of the first moment after it, among those of the history.
        before, after: labels of the moments next to it.
        first, last: labels between which the change lies: the first moment that may be after it, and the last.
        ratio: level after over level before.
        low, high: its 95% interval, for the place that was found.
        command: measures both sides again, interleaved; empty where nothing can be measured anew.
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
    command: tuple[str, ...]

    @property
    def direction(self) -> Literal["slower", "faster"]:
        """Which way it went."""
        return "slower" if self.ratio > 1 else "faster"

    def text(self) -> str:
        """Return how much slower or faster a case became, with the interval."""
        return f"{self.direction}, {formatting.ratio_interval(self.ratio, self.low, self.high)}"

    def place_text(self) -> str:
        """Return at which moment a change is, and how early and late it may be if that is not certain."""
        early = f"as early as {self.first}" if self.first != self.after else ""
        late = f"as late as {self.last}" if self.last != self.after else ""
        others = " or ".join(filter(None, (early, late)))
        return f"{self.before} to {self.after}{others and f', or {others}'}"


def _changes(moments: Sequence[Moment], series: Sequence[Series], runs: Sequence[Run]) -> Iterator[FoundChange]:
    reach = float(special.ndtri((1 + LEVEL) / 2))
    for number, one in enumerate(series):
        for change in one.found.changes:
            # The moments next to the change, and those between which it lies.
            where = (change.place - 1, change.place, change.first, change.last)
            before, after, first, last = (moments[one.places[at]] for at in where)
            sooner = moments[one.places[change.first - 1]]
            yield FoundChange(
                number,
                int(one.places[change.place]),
                *(before.label, after.label, first.label, last.label),
                math.exp(change.step),
                low=math.exp(change.step - reach * change.error),
                high=math.exp(change.step + reach * change.error),
                command=_command_again(runs[one.runs[change.last]], one.case, sooner.value, last.value),
            )


def _command_again(run: Run, case: str, before: str, after: str) -> tuple[str, ...]:
    """Return the command of a run with two commits as its sides, and of built-in ops with that of the case alone.

    Empty where nothing can be measured anew.
    """
    if run.tool != "pyopbench" or before == after or not all(map(COMMIT.fullmatch, (before, after))):
        return ()
    op, words = Case.from_id(case).op, bare_command(run.command)
    if Case.from_id(case).arrangement:  # only a run has revisions, and `pipeline` has none
        return ()
    if words[:2] != ["pyopbench", "run"]:  # it was measured from Python
        words = ["pyopbench", "run", *run.own.get(op, (op,))]
    kept = [
        word for place, word in enumerate(words) if not word.startswith("--rev") and words[max(place - 1, 0)] != "--rev"
    ]
    if op not in run.own:
        kept = [*kept[:2], op, *(word for word in kept[2:] if word not in run.catalogue.ops)]
    return (*kept, "--rev", before, "--rev", after)


@dataclass(frozen=True, eq=False)
class History:
    """All that is known of some series over an axis.

    Attributes:
        axis, moments: what series are over, oldest first.
        minimum_effect: the smallest change that is listed, as a share.
        series: in order of their names.
        changes: those of at least the minimum effect, the largest first.
        notes: what a reader has to know.
        warnings: of the results.
        tools: what measured.
    """

    axis: Axis
    moments: tuple[Moment, ...]
    minimum_effect: float
    series: tuple[Series, ...]
    changes: tuple[FoundChange, ...]
    notes: tuple[Note, ...]
    warnings: tuple[Caveat, ...]
    tools: tuple[str, ...]

    def commands(self) -> list[str]:
        """Return what would confirm the changes, each command once, that of the most important first."""
        return list(dict.fromkeys(shlex.join(one.command) for one in self.changes if one.command))

    @property
    def searched(self) -> int:
        """How many series are long enough to have a change."""
        return sum(len(one.values) >= FEWEST_POINTS for one in self.series)

    def title(self) -> str:
        """Return what the history is of, in one line."""
        many = formatting.count(len(self.moments), *MOMENTS[self.axis])
        return f"{formatting.count(len(self.series), 'series', 'series')} over {many}"

    def summary(self) -> str:
        """Return how many changes there are."""
        return f"{formatting.count(len(self.changes), 'suspected change')}." if self.changes else "No change was found."

    def alarm_text(self) -> str:
        """Return how often a suspicion is false, in a sentence or two."""
        expected = ALARM_RATE * self.searched
        return (
            "A change is suspected where the level of a series shifts by more than noise explains. Expect about "
            f"{expected:.2g} false alarms: {formatting.percent(ALARM_RATE)} of {self.searched:,} "
            "series. To confirm a change, measure both sides again, interleaved."
        )


def read_history(paths: Sequence[Path], axis: Axis | None = None, minimum_effect: float = MINIMUM_EFFECT) -> History:
    """Read results and find the changes in them.

    Args:
        paths: of results, as `store.read.read_source` takes them.
        axis: None for what the results differ in.
        minimum_effect: the smallest change that is listed, as a share.

    Raises:
        BadInput: a path is not of results.
        NothingMeasured: nothing was timed.
    """
    runs = [run for path in dict.fromkeys(map(real_path, paths)) for run in _read(path)]
    axis = axis or usual_axis(runs)
    moments, series = series_of(runs, axis)
    if not series:
        raise NothingMeasured(
            "nothing was timed",
            received=formatting.listing([str(path) for path in paths]),
            legal="results with at least one benchmark that has a time",
            hint="pyopbench report DIR shows what a folder of results contains",
        )
    every = sorted(_changes(moments, series, runs), key=lambda one: (-abs(math.log(one.ratio)), one.number, one.after))
    changes = tuple(one for one in every if abs(math.log(one.ratio)) >= math.log1p(minimum_effect))
    return History(
        axis,
        moments,
        minimum_effect,
        series,
        changes,
        notes=tuple(_notes(series, changes, len(every) - len(changes), minimum_effect, runs)),
        warnings=tuple(dict.fromkeys(warning for run in runs for warning in run.warnings)),
        tools=tuple(sorted({run.tool for run in runs})),
    )


def _notes(
    series: Sequence[Series], changes: Sequence[FoundChange], small: int, minimum_effect: float, runs: Iterable[Run]
) -> Iterator[Note]:
    """Yield what a reader has to know of series and the changes in them, of which some are too small to be listed."""
    yield from _anchors_changed(series, changes)
    latencies = sum(one.measure == "latency" for one in series)
    if latencies:
        many = formatting.count(len(series), "series", "series")
        which = "All series are" if latencies == len(series) else f"{latencies:,} of {many} are"
        sentence = (
            f"{which} absolute times, with nothing measured in the same rounds to compare with. "
            "A slower machine looks the same as slower code there; only measuring both sides again distinguishes them."
        )
        yield Note("only_latency", sentence)
    short = sum(len(one.values) < FEWEST_POINTS for one in series)
    if short:
        counted = formatting.count(short, "series has", "series have")
        yield Note("too_short", f"{counted} fewer than {FEWEST_POINTS} points and cannot show a change.")
    if small:
        least = formatting.percent(minimum_effect)
        sentence = f"{formatting.count(small, 'change')} of less than {least} are not listed (--min-effect)."
        yield Note("small_changes", sentence)
    for caveat in dict.fromkeys(caveat for run in runs for caveat in run.cannot):
        yield Note(caveat.kind, caveat.sentence)


def _anchors_changed(series: Sequence[Series], changes: Sequence[FoundChange]) -> Iterator[Note]:
    """Yield the anchors whose series changed together: a ratio moves as well where its denominator does."""
    anchored = Counter(one.anchor for one in series)
    changed = Counter((series[one.number].anchor, one.after, one.direction) for one in changes)
    for (anchor, after, _), many in changed.items():
        if anchor and many >= FEWEST_SHARING and 2 * many > anchored[anchor]:
            sentence = (
                f"At {after}, {many} of the {anchored[anchor]} series that are relative to {anchor} changed in the "
                f"same direction. Perhaps {anchor} itself changed, in the opposite direction."
            )
            yield Note("anchor_changed", sentence)


def _read(path: Path) -> list[Run]:
    """Return the runs in a path, with the commits of the user; of revisions without the A/A control."""
    source = open_run(path) if is_run(path) else path
    runs = read_source(source)
    if isinstance(source, Path) or not source.has_several_sides:
        return [_of_user(run) for run in runs]
    sides = zip(runs, (measured.side for measured in source.measured), strict=True)
    return [_dated(run, side) for run, side in sides if not side.is_control]


def _of_user(run: Run) -> Run:
    """Return a run of own ops with the commit of the user's repository, because pyopbench's says nothing about them.

    Changes that were not committed have a moment of their own, which cannot be measured again.
    """
    if not run.own:
        return run
    facts = {f"commit_{name}": run.environment.get(f"{OF_USER}{name}") for name in ("date", "subject")}
    commit = run.environment.get(f"{OF_USER}commit")
    if run.environment.get(f"{OF_USER}dirty"):
        commit = f"{short_hash(str(commit))}-dirty"
    return replace(run, environment={**run.environment, **facts, "commit": commit})


def _dated(run: Run, side: Side) -> Run:
    """Return a run with the date and the subject of its commit; files that are not committed are named as asked for."""
    revision = side.revision
    if revision is None:
        return run
    facts = {"commit_date": revision.date, "commit_subject": revision.subject}
    asked = {"commit": revision.asked} if revision.dirty else {}
    return replace(run, environment={**run.environment, **facts, **asked})

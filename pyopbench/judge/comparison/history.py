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
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from scipy import special

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
from pyopbench.stats.estimate import LEVEL, UNIT
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


@dataclass(frozen=True)
class Moment:
    """One place on the axis."""

    label: str  # what the axis shows: the first digits of a commit, or a date
    value: str  # the whole of it, by which it is named in a command
    date: str  # of the commit if that is known, else of the run; ISO 8601, "" where neither is
    subject: str = ""  # first line of the commit's message; "" where it is not known


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
    """Return a date as seconds since 1970, in UTC if it has no time zone; anything else comes first."""
    try:
        found = datetime.fromisoformat(date.replace("Z", "+00:00"))  # Python 3.10 does not read the Z
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
    except ValueError:
        return 0.0


def points_of(runs: Sequence[Run]) -> pd.DataFrame:
    """Return what was measured in some runs; those of other tools are taken together.

    pandas takes as long for one file of another tool as for hundreds, and a history has thousands.

    Returns:
        A row for each case of a run: case (its id, or the name of the benchmark), run (its number), anchor (id of the
        case that a ratio is to; "" for a latency), value (log of the ratio, or of seconds of a call), error (its
        standard error; 0 where launches do not show it), low, high (ends of the 95% interval over launches; nan without
        one) and launches.
    """
    foreign = {number: run for number, run in enumerate(runs) if run.tool != "pyopbench"}
    rows = list(_points(foreign, {}))
    for number, run in enumerate(runs):
        if number not in foreign:
            baseline = run.settings.baseline
            cases = measured_cases(checked_frame(run), run.catalogue)
            rows += _points({number: run}, baseline_of(cases, baseline, usual_gradients(run.catalogue, baseline)))
    return pd.DataFrame(rows, columns=["case", "run", "anchor", "value", "error", "low", "high", "launches"])


def _points(runs: Mapping[int, Run], anchors: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """Yield the points of runs: ratios of the cases that have an anchor, latencies of all others."""
    parts = [side_of("", run).frame[list(COLUMNS)].assign(run=number) for number, run in runs.items()]
    if not parts:
        return
    frame = pd.concat(parts, ignore_index=True)
    rounds = costs.round_costs(frame.assign(case=frame["case"].astype(str)), UNIT)
    logs = estimate.launch_logs(rounds)
    alone = logs[~logs["case"].isin(list(anchors))]
    paired = estimate.ratio_logs(rounds, anchors, UNIT) if anchors else logs.iloc[:0]
    # The launches in which a cost is above zero would be a choice of the slow ones (`verdicts.not_above_zero`).
    lost = logs[logs["value"].isna()]
    small = set(zip(lost["case"], lost["run"], strict=True))
    for measured, of in ((paired, anchors), (alone, dict[str, str]())):
        for number, rows in measured.groupby("run"):
            launches = estimate.launches_by_case(rows)
            known = {case: one for case, one in launches.items() if (case, number) not in small}
            for case, one in zip(known, estimate.moderated(list(known.values())), strict=True):
                error = one.standard_error if one.n > 1 else 0.0
                yield case, int(str(number)), of.get(case, ""), one.mean, error, *one.interval(), one.n


@dataclass(frozen=True, eq=False)
class Series:
    """The points of one case, and the levels of them."""

    case: str  # its id, or the name of the benchmark
    environment: Facts  # names and values that distinguish it from other series of the same case
    tool: str
    anchor: str  # id of the case that a ratio is to; "" for a latency
    between: float  # what runs are taken to differ by beyond their launches, one standard deviation
    # As from `points_of`, with the place of each among the moments of the history, ascending; their errors are those by
    # which changes are judged: of the launches, and of `between`
    points: pd.DataFrame
    found: Segmentation  # its levels and the changes between them

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
    own = [tuple(fact for fact in environment if fact not in shared) for environment in environments]
    points = points_of(runs)
    points = points.assign(
        place=[place_of[of_run[run]] for run in points["run"]],
        environment=[own[run] for run in points["run"]],
        tool=[runs[run].tool for run in points["run"]],
    )
    groups = points.sort_values("place", kind="stable").groupby(["case", "environment", "tool", "anchor"], sort=False)
    series = (_series(key, rows) for key, rows in groups)
    return moments, tuple(sorted(series, key=lambda one: (one.name, one.anchor)))


def _series(key: Any, points: pd.DataFrame) -> Series:
    values, errors = (points[name].to_numpy("float64") for name in ("value", "error"))
    between = between_runs(values, errors, RUN_SPREAD)
    errors = np.maximum(np.hypot(errors, between), SMALLEST_ERROR)
    case, environment, tool, anchor = key
    return Series(
        case, environment, tool, anchor, between, points.assign(error=errors), segment(values, errors, between)
    )


@dataclass(frozen=True)
class FoundChange:
    """A change in a series."""

    number: int  # of the series in its history
    place: int  # of the first moment after it, among those of the history
    before: str  # before and after: labels of the moments next to it
    after: str
    # first and last: labels between which the change lies: the first moment that may be after it, and the last
    first: str
    last: str
    ratio: float  # level after over level before
    low: float  # low and high: its 95% interval, for the place that was found
    high: float
    command: tuple[str, ...]  # measures both sides again, interleaved; empty where nothing can be measured anew

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
            places, run = one.points["place"].to_numpy(), int(one.points["run"].iloc[change.last])
            where = (change.place - 1, change.place, change.first, change.last)
            before, after, first, last = (moments[places[at]] for at in where)
            sooner = moments[places[change.first - 1]]
            yield FoundChange(
                number,
                int(places[change.place]),
                *(before.label, after.label, first.label, last.label),
                math.exp(change.step),
                low=math.exp(change.step - reach * change.error),
                high=math.exp(change.step + reach * change.error),
                command=_command_again(runs[run], one.case, sooner.value, last.value),
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
    """All that is known of some series over an axis."""

    axis: Axis  # axis and moments: what series are over, oldest first
    moments: tuple[Moment, ...]
    minimum_effect: float  # the smallest change that is listed, as a share
    series: tuple[Series, ...]  # in order of their names
    changes: tuple[FoundChange, ...]  # those of at least the minimum effect, the largest first
    notes: tuple[Caveat, ...]  # what a reader has to know
    warnings: tuple[Caveat, ...]
    tools: tuple[str, ...]

    def commands(self) -> list[str]:
        """Return what would confirm the changes, each command once, that of the most important first."""
        return list(dict.fromkeys(shlex.join(one.command) for one in self.changes if one.command))

    @property
    def searched(self) -> int:
        """How many series are long enough to have a change."""
        return sum(len(one.points) >= FEWEST_POINTS for one in self.series)

    def title(self) -> str:
        """Return what the history is of, in one line."""
        many = formatting.count(len(self.moments), *MOMENTS[self.axis])
        return f"{formatting.count(len(self.series), 'series', 'series')} over {many}"

    def summary(self) -> str:
        """Return how many changes there are."""
        if not self.searched:
            return "No series has enough points to show a change."
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
) -> Iterator[Caveat]:
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
        yield Caveat("only_latency", sentence)
    short = sum(len(one.points) < FEWEST_POINTS for one in series)
    if short:
        counted = formatting.count(short, "series has", "series have")
        yield Caveat("too_short", f"{counted} fewer than {FEWEST_POINTS} points and cannot show a change.")
    if small:
        least = formatting.percent(minimum_effect)
        sentence = f"{formatting.count(small, 'change')} of less than {least} are not listed (--min-effect)."
        yield Caveat("small_changes", sentence)
    yield from dict.fromkeys(caveat for run in runs for caveat in run.cannot)


def _anchors_changed(series: Sequence[Series], changes: Sequence[FoundChange]) -> Iterator[Caveat]:
    """Yield the anchors that changed where a ratio to them did: it moves as well where its denominator does."""
    found = [(series[one.number], one) for one in changes]
    itself = {(of.case, of.environment, of.tool, one.after): one.direction for of, one in found}
    moved = Counter((of.anchor, of.environment, of.tool, one.after) for of, one in found)
    for where, direction in itself.items():
        if moved[where]:
            anchor, _, _, after = where
            sentence = (
                f"At {after}, {anchor} itself became {direction}. What changed there relative to it "
                f"({formatting.count(moved[where], 'series', 'series')}) may have changed only because of that."
            )
            yield Caveat("anchor_changed", sentence)


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

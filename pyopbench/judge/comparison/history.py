"""Series over commits, versions or dates with the changes in them, from results to all that is shown of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from pyopbench.judge.comparison.changes import (
    FoundChange,
    Rerun,
    Traced,
    changes_in,
    importance,
    together,
)
from pyopbench.judge.comparison.series import Axis, Moment, are_interleaved, moment_of, series_of, usual_axis
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import NothingMeasured
from pyopbench.model.paths import real_path
from pyopbench.stats.change_points import ALARM_RATE, segment
from pyopbench.stats.series_noise import FEWEST_POINTS
from pyopbench.store.caveats import Caveat
from pyopbench.store.measured_run import Run
from pyopbench.store.own_runs import OF_USER
from pyopbench.store.read import read_source
from pyopbench.store.run import is_run, open_run, read_plan, short_hash
from pyopbench.store.types import Side

MOMENTS: dict[Axis, tuple[str, str]] = {
    "commit": ("commit", "commits"),
    "tf": ("TensorFlow version", "TensorFlow versions"),
    "date": ("run", "runs"),
}
"""What a moment is called, and several."""
CHANGES_CAPTION = "Suspected changes, the largest first"
RERUN = "Commands that measure both sides of suspected changes again, interleaved:"

OTHER_VALUES = "other_values"
"""The part of an environment with the ops that compute otherwise than at the first of interleaved commits."""
FEWEST_SHARING = 3
"""So many series of one anchor have to change at one place before the anchor itself is what has changed."""


def _of(many: int, of: int) -> str:
    return "All series are" if many == of else f"{many:,} of {formatting.count(of, 'series', 'series')} are"


@dataclass(frozen=True)
class AnchorChanged:
    """At `after`, `many` of `of` series of one anchor changed in the same direction: it may be the anchor that did."""

    anchor: str
    after: str
    many: int
    of: int
    kind: Literal["anchor_changed"] = "anchor_changed"

    def text(self) -> str:
        """Return what a reader has to know, in a sentence or two."""
        return (
            f"At {self.after}, {self.many} of the {self.of} series that are relative to {self.anchor} changed in the "
            "same direction. "
            f"Perhaps {self.anchor} itself changed, in the opposite direction."
        )


@dataclass(frozen=True)
class ValuesChanged:
    """At `after`, `ops` began to compute other values than at the first moment: their times are of another function.

    `until` is the moment from which on they compute as before again; "" where none does.
    """

    after: str
    ops: tuple[str, ...]
    until: str = ""
    kind: Literal["values_changed"] = "values_changed"

    def text(self) -> str:
        """Return what a reader has to know, in a sentence or two."""
        differ = f"{formatting.listing(self.ops)} {'computes' if len(self.ops) == 1 else 'compute'} different values"
        if self.until:
            return (
                f"From {self.after} on, and until {self.until}, {differ}, so times in between cannot be compared with "
                "others."
            )
        return f"From {self.after} on, {differ}, so times before and after cannot be compared."


@dataclass(frozen=True)
class NotMeasured:
    """Nothing could be measured of the revision `label`, for this `reason`: a series goes past it."""

    label: str
    reason: str
    kind: Literal["not_measured"] = "not_measured"

    def text(self) -> str:
        """Return what a reader has to know, in a sentence or two."""
        return f"{self.label} is not measured: {self.reason}"


@dataclass(frozen=True)
class OnlyLatency:
    """`many` of `of` series are latencies: what the machine did at a moment is in them, and looks like a change."""

    many: int
    of: int
    kind: Literal["only_latency"] = "only_latency"

    def text(self) -> str:
        """Return what a reader has to know, in a sentence or two."""
        return (
            f"{_of(self.many, self.of)} absolute times, with nothing measured in the same rounds to compare with. "
            "A slower machine looks the same as slower code there; only measuring both sides again distinguishes them."
        )


@dataclass(frozen=True)
class RunsNotInterleaved:
    """`many` series are of runs that were not interleaved, which differ by more than their launches tell."""

    many: int
    of: int
    kind: Literal["runs_not_interleaved"] = "runs_not_interleaved"

    def text(self) -> str:
        """Return what a reader has to know, in a sentence or two."""
        return (
            f"{_of(self.many, self.of)} from runs that were not interleaved. Such runs of the same code differ by more "
            "than their launches show, so errors and thresholds are wider."
        )


@dataclass(frozen=True)
class TooShort:
    """`many` series have fewer than `fewest` points and were not searched for changes."""

    many: int
    fewest: int
    kind: Literal["too_short"] = "too_short"

    def text(self) -> str:
        """Return what a reader has to know, in a sentence or two."""
        points = f"fewer than {self.fewest} points"
        return f"{formatting.count(self.many, 'series has', 'series have')} {points} and cannot show a change."


@dataclass(frozen=True)
class SmallChanges:
    """`many` changes are smaller than the minimum effect and are not listed."""

    many: int
    minimum_effect: float
    kind: Literal["small_changes"] = "small_changes"

    def text(self) -> str:
        """Return what a reader has to know, in a sentence or two."""
        least = formatting.percent(self.minimum_effect)
        return f"{formatting.count(self.many, 'change')} of less than {least} are not listed (--min-effect)."


Remark: TypeAlias = (
    NotMeasured | ValuesChanged | AnchorChanged | OnlyLatency | RunsNotInterleaved | TooShort | SmallChanges | Caveat
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
    yield from dict.fromkeys(limitation for run in runs for limitation in run.cannot)


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


@dataclass(frozen=True)
class Options:
    """How a history is judged.

    Attributes:
        axis: None for what the results differ in.
        minimum_effect: the smallest change that is shown, as a share.
    """

    axis: Axis | None = None
    minimum_effect: float = MINIMUM_EFFECT


@dataclass(frozen=True, eq=False)
class History:
    """All that is known of some series over an axis.

    Attributes:
        axis, moments: what series are over, oldest first.
        options: how it was judged, with the axis filled in.
        traced: the series, in order of their names.
        changes: those of at least the minimum effect, the largest first.
        remarks: what a reader has to know.
        warnings: of the results.
        tools: what measured.
    """

    axis: Axis
    moments: tuple[Moment, ...]
    options: Options
    traced: tuple[Traced, ...]
    changes: tuple[FoundChange, ...]
    remarks: tuple[Remark, ...]
    warnings: tuple[Caveat, ...]
    tools: tuple[str, ...]

    def reruns(self) -> list[Rerun]:
        """Return what would confirm the changes, one for each pair of moments, of the most important first."""
        return together(one.rerun for one in self.changes if one.rerun is not None)

    @property
    def searched(self) -> int:
        """How many series are long enough to have a change."""
        return sum(math.isfinite(one.found.threshold) for one in self.traced)

    def title(self) -> str:
        """Return what the history is of, in one line."""
        many = formatting.count(len(self.moments), *MOMENTS[self.axis])
        return f"{formatting.count(len(self.traced), 'series', 'series')} over {many}"

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


def read_history(paths: Sequence[Path], options: Options) -> History:
    """Read results and find the changes in them.

    Args:
        paths: of results, as `store.read.read_source` takes them.
        options: how to judge.

    Raises:
        BadInput: a path is not of results.
        NothingMeasured: nothing was timed.
    """
    folders = list(dict.fromkeys(real_path(path) for path in paths))
    sources = [_read(path) for path in folders]
    found = history_of(_alike(sources), options)
    if not found.traced:
        raise NothingMeasured(
            "nothing was timed",
            received=formatting.listing([str(path) for path in paths]),
            legal="results with at least one benchmark that has a time",
            hint="pyopbench report DIR shows what a folder of results contains",
        )
    return replace(found, remarks=(*_not_measured(folders), *found.remarks))


def history_of(sources: Sequence[Sequence[Run]], options: Options) -> History:
    """Return the history of some sources; see `read_history`."""
    axis = options.axis or usual_axis(sources)
    options = replace(options, axis=axis)
    moments, series = series_of(sources, axis)
    ordered = sorted(series, key=lambda one: (one.name, one.anchor))
    traced = tuple(Traced(one, segment(one.values, one.errors, one.noise, ALARM_RATE, one.between)) for one in ordered)
    runs = [run for source in sources for run in source]
    every = list(changes_in(axis, moments, traced, runs))
    changes = [one for one in every if abs(math.log(one.ratio)) >= math.log1p(options.minimum_effect)]
    small = [options.minimum_effect] * (len(every) - len(changes))
    return History(
        axis,
        moments,
        options,
        traced,
        tuple(sorted(changes, key=importance)),
        (*values_changed(axis, sources), *remarks_of(traced, changes, small, runs)),
        tuple(dict.fromkeys(warning for run in runs for warning in run.warnings)),
        tuple(sorted({run.tool for run in runs})),
    )


def _read(path: Path) -> tuple[Run, ...]:
    """Return the runs in a path; of revisions with date and message, and without those that are there as a control."""
    source = open_run(path) if is_run(path) else path
    runs = read_source(source)
    if isinstance(source, Path) or not source.has_several_sides:
        return tuple(_of_user(run) for run in runs)
    sides = zip(runs, (measured.side for measured in source.measured), strict=True)
    return tuple(_dated(run, side) for run, side in sides if not side.is_control)


def _not_measured(folders: Sequence[Path]) -> Iterator[NotMeasured]:
    """Yield the revisions of which there is nothing, with the reason."""
    for version in (side for path in folders if is_run(path) for side in read_plan(path).sides):
        if version.problem is not None:
            yield NotMeasured(version.label, version.problem)


def _of_user(run: Run) -> Run:
    """Return a run of own ops with the commit of the user's repository, because pyopbench's says nothing about them.

    Changes that were not committed have a moment of their own, which cannot be measured again.
    """
    if not run.own:
        return run
    commit, date, subject, dirty = (
        run.environment.get(f"{OF_USER}{name}") for name in ("commit", "date", "subject", "dirty")
    )
    if dirty:
        commit = f"{short_hash(str(commit))}-dirty"
    facts = {"commit": commit, "dirty": dirty, "commit_date": date, "commit_subject": subject}
    return replace(run, environment={**run.environment, **facts})


def _dated(run: Run, side: Side) -> Run:
    """Return a run with the date and the subject of its commit, and the ops whose values are other than the first's."""
    revision = side.revision
    if revision is None:
        return run
    other_values = tuple(sorted({one.op for one in side.values.differences if one.kind != "unknown"}))
    facts = {"commit_date": revision.date, "commit_subject": revision.subject, OTHER_VALUES: other_values}
    asked = {"commit": revision.asked} if revision.dirty else {}
    return replace(run, environment={**run.environment, **facts, **asked})


def _alike(sources: Sequence[Sequence[Run]]) -> list[Sequence[Run]]:
    """Return the sources, with runs that nothing interleaves as sources of their own."""
    return [part for runs in sources for part in ([runs] if are_interleaved(runs) else [(run,) for run in runs])]

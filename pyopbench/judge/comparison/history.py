"""Series over commits, versions or dates with the changes in them, from results to all that is shown of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyopbench.judge.comparison.changes import FoundChange, Rerun, Traced, changes_in, importance, together
from pyopbench.judge.comparison.diff import Note
from pyopbench.judge.comparison.series import Axis, Moment, moment_of, series_of, usual_axis
from pyopbench.judge.comparison.sides import are_interleaved
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import NothingMeasured
from pyopbench.model.paths import real_path
from pyopbench.stats.change_points import ALARM_RATE, FEWEST_POINTS, segment
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


def notes_of(
    traced: Sequence[Traced], changes: Sequence[FoundChange], small: int, minimum_effect: float, runs: Sequence[Run]
) -> Iterator[Note]:
    """Yield what a reader has to know of some series.

    Args:
        traced: the series.
        changes: those that are listed.
        small: how many are not, because they are smaller than `minimum_effect`.
        minimum_effect: as a share.
        runs: where they come from.
    """
    yield from _anchors_changed(traced, changes)
    many = len(traced)
    latencies = sum(one.series.measure == "latency" for one in traced)
    if latencies:
        sentence = (
            f"{_share_text(latencies, many)} absolute times, with nothing measured in the same rounds to compare with. "
            "A slower machine looks the same as slower code there; only measuring both sides again distinguishes them."
        )
        yield Note("only_latency", sentence, {"many": latencies, "of": many})
    apart = sum(one.series.noise == "autocorrelated" for one in traced)
    if apart:
        sentence = (
            f"{_share_text(apart, many)} from runs that were not interleaved. Such runs of the same code differ by "
            "more than their launches show, so errors and thresholds are wider."
        )
        yield Note("runs_not_interleaved", sentence, {"many": apart, "of": many})
    short = sum(math.isinf(one.found.threshold) for one in traced)
    if short:
        counted = formatting.count(short, "series has", "series have")
        sentence = f"{counted} fewer than {FEWEST_POINTS} points and cannot show a change."
        yield Note("too_short", sentence, {"many": short, "fewest": FEWEST_POINTS})
    if small:
        least = formatting.percent(minimum_effect)
        sentence = f"{formatting.count(small, 'change')} of less than {least} are not listed (--min-effect)."
        yield Note("small_changes", sentence, {"many": small, "minimum_effect": minimum_effect})
    for caveat in dict.fromkeys(caveat for run in runs for caveat in run.cannot):
        yield Note(caveat.kind, caveat.sentence)


def _share_text(many: int, of: int) -> str:
    return "All series are" if many == of else f"{many:,} of {formatting.count(of, 'series', 'series')} are"


def values_changed(axis: Axis, sources: Sequence[Sequence[Run]]) -> Iterator[Note]:
    """Yield where ops compute other values than at the first moment of interleaved runs: there they are other work."""
    for runs in sources:
        labels = [moment_of(axis, run).label for run in runs]
        ops_of: dict[tuple[str, ...], list[str]] = {}
        for op in sorted({op for run in runs for op in run.environment.get(OTHER_VALUES, ())}):
            at = [label for label, run in zip(labels, runs, strict=True) if op in run.environment.get(OTHER_VALUES, ())]
            ops_of.setdefault(tuple(at), []).append(op)
        for moments, ops in ops_of.items():
            differ = f"{formatting.listing(ops)} {'computes' if len(ops) == 1 else 'compute'} other values"
            sentence = f"{differ} at {formatting.listing(moments)}, so times there cannot be compared with the others."
            yield Note("values_changed", sentence, {"at": moments, "ops": tuple(ops)})


def _anchors_changed(traced: Sequence[Traced], changes: Sequence[FoundChange]) -> Iterator[Note]:
    """Yield the anchors whose series changed together: a ratio moves as well where its denominator does."""
    anchors = [one.series.anchor if one.series.anchored_to == "variant" else "" for one in traced]
    series, changed = Counter(anchors), Counter((anchors[one.number], one.after, one.direction) for one in changes)
    for (anchor, after, _), many in changed.items():
        if anchor and many >= FEWEST_SHARING and 2 * many > series[anchor]:
            sentence = (
                f"At {after}, {many} of the {series[anchor]} series that are relative to {anchor} changed in the same "
                f"direction. Perhaps {anchor} itself changed, in the opposite direction."
            )
            values = {"anchor": anchor, "after": after, "many": many, "of": series[anchor]}
            yield Note("anchor_changed", sentence, values)


@dataclass(frozen=True, eq=False)
class History:
    """All that is known of some series over an axis.

    Attributes:
        axis, moments: what series are over, oldest first.
        minimum_effect: the smallest change that is listed, as a share.
        traced: the series, in order of their names.
        changes: those of at least the minimum effect, the largest first.
        notes: what a reader has to know.
        warnings: of the results.
        tools: what measured.
    """

    axis: Axis
    moments: tuple[Moment, ...]
    minimum_effect: float
    traced: tuple[Traced, ...]
    changes: tuple[FoundChange, ...]
    notes: tuple[Note, ...]
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
    folders = list(dict.fromkeys(real_path(path) for path in paths))
    sources = [_read(path) for path in folders]
    found = history_of(_alike(sources), axis, minimum_effect)
    if not found.traced:
        raise NothingMeasured(
            "nothing was timed",
            received=formatting.listing([str(path) for path in paths]),
            legal="results with at least one benchmark that has a time",
            hint="pyopbench report DIR shows what a folder of results contains",
        )
    return replace(found, notes=(*_not_measured(folders), *found.notes))


def history_of(sources: Sequence[Sequence[Run]], axis: Axis | None, minimum_effect: float) -> History:
    """Return the history of some sources; see `read_history`."""
    axis = axis or usual_axis(sources)
    moments, series = series_of(sources, axis)
    ordered = sorted(series, key=lambda one: (one.name, one.anchor))
    traced = tuple(Traced(one, segment(one.values, one.errors, one.noise, one.between)) for one in ordered)
    runs = [run for source in sources for run in source]
    every = list(changes_in(axis, moments, traced, runs))
    changes = [one for one in every if abs(math.log(one.ratio)) >= math.log1p(minimum_effect)]
    notes = notes_of(traced, changes, len(every) - len(changes), minimum_effect, runs)
    return History(
        axis,
        moments,
        minimum_effect,
        traced,
        changes=tuple(sorted(changes, key=importance)),
        notes=(*values_changed(axis, sources), *notes),
        warnings=tuple(dict.fromkeys(warning for run in runs for warning in run.warnings)),
        tools=tuple(sorted({run.tool for run in runs})),
    )


def _read(path: Path) -> tuple[Run, ...]:
    """Return the runs in a path; of revisions with date and message, and without those that are there as a control."""
    source = open_run(path) if is_run(path) else path
    runs = read_source(source)
    if isinstance(source, Path) or not source.has_several_sides:
        return tuple(_of_user(run) for run in runs)
    sides = zip(runs, (measured.side for measured in source.measured), strict=True)
    return tuple(_dated(run, side) for run, side in sides if not side.is_control)


def _not_measured(folders: Sequence[Path]) -> Iterator[Note]:
    """Yield the revisions of which there is nothing, with the reason: a series goes past them."""
    for version in (side for path in folders if is_run(path) for side in read_plan(path).sides):
        if version.problem is not None:
            sentence = f"{version.label} is not measured: {version.problem}"
            yield Note("not_measured", sentence, {"label": version.label, "reason": version.problem})


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

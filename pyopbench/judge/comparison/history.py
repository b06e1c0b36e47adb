"""Series over commits, versions or dates with the changes in them, from results to all that is shown of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyopbench.judge.comparison.changes import FoundChange, Status, Traced, changes_in, confirmed, importance
from pyopbench.judge.comparison.moments import Axis, Moment, usual_axis
from pyopbench.judge.comparison.points import are_interleaved
from pyopbench.judge.comparison.remarks import OTHER_VALUES, NotMeasured, Remark, remarks_of, values_changed
from pyopbench.judge.comparison.reruns import Confirmation
from pyopbench.judge.comparison.series import series_of
from pyopbench.judge.machines import kinds_in, run_on
from pyopbench.model import formatting
from pyopbench.model.case import MINIMUM_EFFECT
from pyopbench.model.errors import NothingMeasured
from pyopbench.model.paths import real_path
from pyopbench.stats.change_points import ALARM_RATE, segment
from pyopbench.stats.unpaired import RUN_SPREAD
from pyopbench.store import run_sides
from pyopbench.store.read import read_source
from pyopbench.store.run import Run
from pyopbench.store.run_sides import Side
from pyopbench.store.warnings import RunWarning


@dataclass(frozen=True)
class Options:
    """How a history is judged.

    Attributes:
        axis: None for what the results differ in.
        minimum_effect: the smallest change that is shown, as a share.
        run_spread: what runs that were not interleaved are taken to differ by, where they are too few to tell.
        alarm_rate: share of series without a change in which one may be suspected.
    """

    axis: Axis | None = None
    minimum_effect: float = MINIMUM_EFFECT
    run_spread: float = RUN_SPREAD
    alarm_rate: float = ALARM_RATE


@dataclass(frozen=True, eq=False)
class History:
    """All that is known of some series over an axis.

    Attributes:
        axis, moments: what series are over, oldest first.
        options: how it was judged, with the axis filled in.
        traced: the series, in order of their names.
        changes: those of at least the minimum effect, by status, then the largest first.
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
    warnings: tuple[RunWarning, ...]
    tools: tuple[str, ...]

    def with_status(self, status: Status) -> tuple[FoundChange, ...]:
        """Return the changes of one status."""
        return tuple(one for one in self.changes if one.status == status)

    @property
    def searched(self) -> int:
        """How many series are long enough to have a change."""
        return sum(math.isfinite(one.found.threshold) for one in self.traced)


def read_history(paths: Sequence[Path], options: Options, confirmations: Sequence[Confirmation] = ()) -> History:
    """Read results and find the changes in them.

    Args:
        paths: of results, as `results.read.read_source`.
        options: how to judge.
        confirmations: what was measured anew.

    Raises:
        BadInput: a path is not of results.
        NothingMeasured: nothing was timed.
    """
    folders = list(dict.fromkeys(real_path(path) for path in paths))
    sources = [part for path in folders for part in _by_kind(_read(path))]
    found = history_of(_alike(sources), options, confirmations)
    if not found.traced:
        raise NothingMeasured(
            "nothing was timed",
            received=formatting.listing([str(path) for path in paths]),
            legal="results with at least one benchmark that has a time",
            hint="pyopbench check DIR shows what a folder of results contains",
        )
    return replace(found, remarks=(*_not_measured(folders), *found.remarks))


def history_of(
    sources: Sequence[Sequence[Run]], options: Options, confirmations: Sequence[Confirmation] = ()
) -> History:
    """Return the history of some sources; see `read_history`."""
    axis = options.axis or usual_axis(sources)
    options = replace(options, axis=axis)
    moments, series = series_of(sources, axis, options.run_spread)
    ordered = sorted(series, key=lambda one: (one.name, one.anchor))
    traced = tuple(Traced(one, segment(one.values, one.errors, one.noise, options.alarm_rate)) for one in ordered)
    runs = [run for source in sources for run in source]
    every = list(changes_in(axis, moments, traced, runs))
    listed = [one for one in every if abs(math.log(one.ratio)) >= math.log1p(options.minimum_effect)]
    small = [options.minimum_effect] * (len(every) - len(listed))
    changes = [confirmed(one, traced[one.number].series, confirmations) for one in listed]
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
    runs = read_source(path)
    if not run_sides.is_here(path):
        return runs
    sides = zip(runs, run_sides.read(path), strict=True)
    return tuple(_dated(run, side) for run, side in sides if not side.is_control)


def _not_measured(folders: Sequence[Path]) -> Iterator[NotMeasured]:
    """Yield the revisions of which there is nothing, with the reason."""
    for version in (one for path in folders if run_sides.is_here(path) for one in run_sides.read_all(path)):
        if version.problem is not None:
            yield NotMeasured(version.label, version.problem)


def _by_kind(runs: Sequence[Run]) -> list[Sequence[Run]]:
    """Return runs of several machines by kind of machine: each has series of its own, as other processors have.

    Args:
        runs: of one source; those of versions that were measured together were on the same machines.
    """
    kinds = kinds_in(runs[0]) if runs else {}
    if not kinds:
        return [runs]
    return [[_on_kind(run, kind, names) for run in runs] for kind, names in kinds.items()]


def _on_kind(run: Run, kind: str, names: Sequence[str]) -> Run:
    """Return what machines of a kind have measured, in the environment of these."""
    processors = [run.machines[others[0]].get("cpu") for others in kinds_in(run).values()]
    here = run.machines[names[0]]
    # Cores or GPUs tell them apart as well, which have no place in the name of a series otherwise.
    apart = {"machine": kind} if processors.count(here.get("cpu")) > 1 else {}
    return replace(run_on(run, names), environment={**run.environment, **here, **apart})


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

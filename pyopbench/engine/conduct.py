"""Takes a run from its request to its last sample, and tells a listener how it goes.

The command line and Python measure by this alone; they differ in who listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pyopbench.engine import checkouts, environments, planning, probe, start, start_revisions, start_versions
from pyopbench.engine.budget import Tell
from pyopbench.engine.revision_request import RevisionRequest
from pyopbench.engine.schedule import Ended, Task, measure_together
from pyopbench.judge import judge
from pyopbench.model.case import UNLIMITED
from pyopbench.model.checkout import Checkout
from pyopbench.model.errors import PyopbenchError, WorkerLost
from pyopbench.report.wording import measuring as wording
from pyopbench.store import versions


class Listener:
    """Is told how a run goes. This one keeps it to itself; others say what they want of it."""

    @contextmanager
    def busy(self, what: str) -> Iterator[Callable[[str], None]]:
        """Be told that something takes a while, and by what is yielded how far it is."""
        yield lambda text: None

    @contextmanager
    def sampling(self) -> Iterator[Tell]:
        """Be told, by what is yielded, of every group before it is prepared or sampled."""
        yield lambda step: None

    def say(self, text: str, *, whole: bool = False) -> None:
        """Be told a sentence; a `whole` one holds a path or a command, and is not broken into lines."""

    def warn(self, text: str) -> None:
        """Be told what to know before the results are read, though the run goes on."""

    def problem(self, error: PyopbenchError, what: str = "") -> None:
        """Be told of an error that the run goes on after; `what` says what came of it, "" for nothing to go on with."""


def begin(
    folder: Path | None,
    request: start.Request,
    listener: Listener,
    *,
    tf: Sequence[str] = (),
    revisions: RevisionRequest | None = None,
) -> Path:
    """Plan a run, or one for each version of TensorFlow or each revision, and return the folder of all.

    Raises:
        BadInput: as `start.begin`, `start_versions.begin` or `start_revisions.begin`.
    """
    missing = environments.missing(dict.fromkeys(tf))
    if missing:
        listener.say(wording.installing_text(missing, environments.INSTALLED_GB))
    with listener.busy(wording.PLANNING_VERSIONS if tf else wording.PLANNING):
        folder, planned = _begin(folder, request, tf, revisions)
    if revisions is not None:
        tell_planned_together(planned, folder, listener)
        _warn_of_values(folder, listener)
    else:
        for one in planned:
            tell_planned(one, listener)
    return folder


def _begin(
    folder: Path | None, request: start.Request, tf: Sequence[str], revisions: RevisionRequest | None
) -> tuple[Path, list[start.PlannedRun]]:
    if revisions is not None:
        return start_revisions.begin(
            folder, request, revisions.asked, revisions.every, each_has_budget=revisions.each_has_budget
        )
    if tf:
        return start_versions.begin(folder, request, tf)
    planned = start.begin(folder, request)
    return planned.folder, [planned]


def _warn_of_values(folder: Path, listener: Listener) -> None:
    """Tell, before anything is timed, which revisions compute other values or cannot be measured."""
    from pyopbench.report.wording import gate  # pandas, which takes a second

    for version in versions.read_all(folder):
        if version.revision is None:
            continue
        if version.revision.problem is not None:
            listener.warn(gate.problem_text(version))
        for found in version.revision.values.differences:
            listener.warn(gate.difference_text(version.label, found))


def tell_planned(planned: start.PlannedRun, listener: Listener) -> None:
    """Tell what was planned, and where it goes."""
    listener.say(wording.planned_text(planned.cases, planned.skips, str(planned.folder)), whole=True)


def tell_planned_together(planned: Sequence[start.PlannedRun], folder: Path, listener: Listener) -> None:
    """Tell in a line what was planned of several revisions, of which the last one is the control."""
    *others, control = planned
    cases, skips = [one.cases for one in others], max(one.skips for one in others)
    listener.say(wording.planned_together_text(cases, skips, control.cases, str(folder)), whole=True)


def parts_of(folder: Path) -> list[Path]:
    """Return the runs in a folder: itself, or one for each version of TensorFlow or each revision."""
    return [version.folder for version in versions.read(folder)] if versions.is_here(folder) else [folder]


def probe_beside(folder: Path, options: judge.Judging, listener: Listener) -> None:
    """Put beside each run in a folder what probes find; a run is worth having without, so that nothing ends it."""
    for part in parts_of(folder):
        _probe(part, options, listener)


def _probe(folder: Path, options: judge.Judging, listener: Listener) -> None:
    try:
        with listener.busy("probing") as show:
            probe.keep_beside(folder, options.requires, lambda done, total: show(f"probing {done:,} of {total:,}"))
    except PyopbenchError as error:
        listener.problem(error, "probing failed")


def measure(folder: Path, options: judge.Judging, listener: Listener) -> Ended | None:
    """Measure what is left of a run and return how it ended; None if no worker could be started any more.

    Raises:
        BadInput: as `schedule.measure`.
        KeyboardInterrupt: it was interrupted; what was finished is stored.
    """
    try:
        with listener.busy("starting"):  # a version of TensorFlow that is gone from the cache is installed again
            found = start_revisions.checkouts_in(folder) if versions.is_of_revisions(folder) else {}
            tasks = [_task(part, options, found.get(part), listener) for part in parts_of(folder)]
        with listener.sampling() as tell:
            together = partial(_look_together, folder, options, listener) if versions.is_here(folder) else None
            ended = min(measure_together(tasks, tell, together), key=lambda one: one.launches)
        checkouts.give_back(found.values())  # what is interrupted before keeps them, to be continued
    except WorkerLost as lost:  # what was measured before is worth its report
        listener.problem(lost)
        listener.say(f"  resume: {start.resume_command(folder)}", whole=True)
        return None
    if ended.by == "budget":
        settings = tasks[0].settings
        most = settings.launches if settings.launches < UNLIMITED else None
        listener.say(wording.budget_text(settings.budget_seconds or 0.0, ended.launches, most))
    return ended


def _task(folder: Path, options: judge.Judging, checkout: Checkout | None, listener: Listener) -> Task:
    settings = start.settings_of(folder)
    look = partial(_look, folder, options, listener, settings.launches)
    return Task(folder, settings, look, planning.python_for(start.tf_of(folder)), checkout)


def _look_together(
    folder: Path, options: judge.Judging, listener: Listener, launches: int
) -> Mapping[Path, frozenset[str]]:
    """Return what is open between versions; of versions of TensorFlow what is open on each as well."""
    from pyopbench.judge.comparison import look

    found = look.look(folder, options.minimum_effect)
    open_ = dict(found.open)
    if not versions.is_of_revisions(folder):
        for part in parts_of(folder):
            open_[part] |= _look(part, options, listener, start.settings_of(part).launches, launches)
    listener.say(wording.compared_text(launches, found.resolved, found.compared))
    return open_


def _look(folder: Path, options: judge.Judging, listener: Listener, most: int, launches: int) -> frozenset[str]:
    found = judge.look(folder, options, launches, most)
    listener.say(wording.look_text(found))
    return found.open

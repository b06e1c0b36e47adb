"""What `pyopbench run` and `resume` do with a run: begin it, probe beside it, measure, report, end when interrupted."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer
from rich.markup import escape

from pyopbench.cli.installing import announce
from pyopbench.cli.output import err, say, say_error
from pyopbench.cli.report import progress, write_report
from pyopbench.cli.revisions import print_values, report_revisions
from pyopbench.cli.versions import report_versions
from pyopbench.core import formatting
from pyopbench.core.checkout import Checkout
from pyopbench.core.errors import BadInput, PyopbenchError, WorkerLost
from pyopbench.judge import judge
from pyopbench.report.wording.stopping import progress_text
from pyopbench.results import versions
from pyopbench.run import checkouts, planning, probe, start, start_revisions, start_versions
from pyopbench.run.schedule import Ended, Task, measure_together

EXIT_INTERRUPTED = 130

PLANNING = "planning: starting TensorFlow, compiling kernels, trying ports"
"""What takes a while before anything is measured, and longest the first time."""


@dataclass(frozen=True)
class SeveralRevisions:
    """What a command line asks for of revisions.

    Attributes:
        asked: those that it names.
        every: of a range, each how manieth commit.
        each_has_budget: is the budget that of one revision, and not of all?
    """

    asked: tuple[str, ...]
    every: int
    each_has_budget: bool


def begin(
    folder: Path | None, request: start.Request, tf: list[str] | None, revisions: SeveralRevisions | None = None
) -> Path:
    """Plan a run, or one for each version of TensorFlow or each revision, and return its folder."""
    announce(tf or [])
    with err.status("planning, and installing TensorFlow where it is missing" if tf else PLANNING):
        if revisions is not None:
            folder, begun = start_revisions.begin(
                folder, request, revisions.asked, revisions.every, each_has_budget=revisions.each_has_budget
            )
        elif tf:
            folder, begun = start_versions.begin(folder, request, tf)
        else:
            begun = [start.begin(folder, request)]
            folder = begun[0].folder
    for one in begun:
        counts = f"{one.cases:,} cases, {one.skips:,} not supported"
        err.print(f"{counts}; results in {escape(str(one.folder))}", soft_wrap=True)
    if revisions is not None:
        print_values(folder)
    return folder


def probe_beside(folder: Path, options: judge.Judging) -> None:
    """Put beside a run what probes find; a run is worth having without, so that nothing here ends it."""
    try:
        with err.status("probing") as status:
            probe.keep_beside(
                folder, options.requires, lambda done, total: status.update(f"probing {done:,} of {total:,}")
            )
    except PyopbenchError as error:
        say_error(error, "[yellow]warning:[/] probing failed:")


def parts_of(folder: Path) -> list[Path]:
    """Return the runs in a folder: itself, or one for each version of TensorFlow or each revision."""
    return [version.folder for version in versions.read(folder)] if versions.is_here(folder) else [folder]


def refuse_json(received: str, *, as_json: bool) -> None:
    """Refuse `--json` for a run on several versions of TensorFlow.

    Raises:
        BadInput: it is asked for; with what was `received`.
    """
    if as_json:
        raise BadInput(
            "a run on several versions has one report per version",
            received=received,
            legal="--json with one version, or its folder",
            next_step="leave out --json, then: pyopbench report DIR/tf-VERSION --json",
        )


def measure_and_report(
    folder: Path, options: judge.Judging, *, probe: bool, as_json: bool, fail_on: str | None = None
) -> int:
    """Measure what is left of a run, write and print its report, and return the exit code.

    Args:
        folder: of the run, or of one for each version of TensorFlow.
        options: how to judge.
        probe: try first what the ports can do.
        as_json: print decisions.json in place of tables.
        fail_on: what a run over revisions fails on, as in `parse.parse_fail_on`.
    """
    with telling_how_to_resume(folder):
        if probe:
            for part in parts_of(folder):
                probe_beside(part, options)
        ended = measure(folder, options)
    if versions.is_of_revisions(folder):
        return report_revisions(folder, options, fail_on, as_json=as_json)
    if versions.is_here(folder):
        return report_versions(folder, options)
    start.require_measured(folder)
    return write_report([folder], folder, options, as_json=as_json, ended=ended)


@contextmanager
def telling_how_to_resume(folder: Path) -> Iterator[None]:
    """Where an interrupt ends what is done within, print the command that resumes the run, and exit."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends the run finds it as after Ctrl-C
    try:
        yield
    except KeyboardInterrupt:
        name = shlex.quote(str(folder))
        err.print(f"interrupted; finished measurements are in {escape(str(folder))}", soft_wrap=True)
        err.print(f"  resume: {escape(start.resume_command(folder))}", soft_wrap=True)
        err.print(f"  report: {escape(f'pyopbench report {name}')}", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def measure(folder: Path, options: judge.Judging) -> Ended | None:
    """Measure and return how it ended; None if no worker could be started any more."""
    try:
        with err.status("starting"):  # a version of TensorFlow that is gone from the cache is installed again
            found = start_revisions.checkouts_in(folder) if versions.is_of_revisions(folder) else {}
            tasks = [_task(part, options, found.get(part)) for part in parts_of(folder)]
        with progress() as show:
            together = partial(_look_together, folder, options) if versions.is_here(folder) else None
            ended = min(measure_together(tasks, show, together), key=lambda one: one.launches)
        checkouts.give_back(found.values())  # what is interrupted before keeps them, to be continued
    except WorkerLost as lost:  # what was measured before is worth its report
        say_error(lost)
        err.print(f"  resume: {escape(start.resume_command(folder))}", soft_wrap=True)
        return None
    if ended.by == "budget":
        settings = tasks[0].settings
        spent = f"the budget of {settings.budget_seconds:g} s is spent"
        err.print(f"{spent} after {ended.launches} of at most {settings.launches} launches")
    return ended


def _task(folder: Path, options: judge.Judging, checkout: Checkout | None) -> Task:
    settings = start.settings_of(folder)
    look = partial(_look, folder, options, settings.launches)
    return Task(folder, settings, look, planning.python_for(start.tf_of(folder)), checkout)


def _look_together(folder: Path, options: judge.Judging, launches: int) -> Mapping[Path, frozenset[str]]:
    """Return what is open between versions; of versions of TensorFlow what is open on each as well."""
    from pyopbench.compare import look

    found = look.look(folder, options.minimum_effect)
    open_ = dict(found.open)
    if not versions.is_of_revisions(folder):
        for part in parts_of(folder):
            open_[part] |= _look(part, options, start.settings_of(part).launches, launches)
    made = f"after {formatting.count(launches, 'launch', 'launches')} {found.resolved:,} of {found.compared:,}"
    say(f"{made} comparisons are resolved", err)
    return open_


def _look(folder: Path, options: judge.Judging, most: int, launches: int) -> frozenset[str]:
    found = judge.look(folder, options, launches, most)
    goes_on = f"measuring {formatting.count(len(found.open), 'case')} further" if found.open else "done"
    say(f"{progress_text(found)}; {goes_on}", err)
    return found.open

"""What `pyopbench run` and `resume` do with a run: begin it, probe beside it, measure, report, end when interrupted."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer
from rich.markup import escape

from pyopbench.api.alone import alone_on_this_machine
from pyopbench.api.listeners import ConsoleListener
from pyopbench.cli.output import err
from pyopbench.cli.report import write_report
from pyopbench.cli.revisions import report_revisions
from pyopbench.cli.versions import report_versions
from pyopbench.engine import measure, stored_run
from pyopbench.judge import judge
from pyopbench.model.errors import BadInput
from pyopbench.store import versions

EXIT_INTERRUPTED = 130


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
            hint="leave out --json, then: pyopbench report DIR/tf-VERSION --json",
        )


def measure_and_report(
    folder: Path, options: judge.Judging, *, probe: bool, as_json: bool, fail_on: str | None = None
) -> int:
    """Measure what is left of a run, write and print its report, and return the exit code.

    Nobody else measures on this machine meanwhile: a report takes processor time that others would measure.

    Args:
        folder: of the run, or of one for each version of TensorFlow.
        options: how to judge.
        probe: try first what the ports can do.
        as_json: print decisions.json in place of tables.
        fail_on: what a run over revisions fails on, as in `parse.parse_fail_on`.
    """
    listener = ConsoleListener(err)
    with ExitStack() as until_reported:
        with telling_how_to_resume(folder):
            until_reported.enter_context(alone_on_this_machine())  # who is waiting can be interrupted, too
            if probe:
                measure.probe_beside(folder, options, listener)
            ended = measure.measure(folder, options, listener)
        if versions.is_of_revisions(folder):
            return report_revisions(folder, options, fail_on, as_json=as_json)
        if versions.is_here(folder):
            return report_versions(folder, options)
        stored_run.require_measured(folder)
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
        err.print(f"  resume: {escape(stored_run.resume_command(folder))}", soft_wrap=True)
        err.print(f"  report: {escape(f'pyopbench report {name}')}", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None

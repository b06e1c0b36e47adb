"""What `pyopbench run` does between options and report: it begins a run, probes beside it, measures, can be ended."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

import typer
from rich.markup import escape

from pyopbench import examination, judging, planning, runs, text, version_runs, versions
from pyopbench.cli_output import err, say
from pyopbench.cli_report import progress
from pyopbench.errors import BadInput, PyopbenchError, WorkerLost
from pyopbench.measure import Ended, Task, measure_together
from pyopbench.wording.stopping import progress_text

EXIT_INTERRUPTED = 130

PLANNING = "planning: TensorFlow starts, kernels are compiled, ports are tried"
"""What takes a while before anything is measured, and longest the first time."""

WITH_RESUME = ("resume", "mix", "min_effect", "calls_per_step", "step_ms", "require", "as_json", "quiet")
"""What a run that is continued can be given: nothing that changes the plan."""


def begin(folder: Path | None, request: runs.Request, tf: list[str] | None) -> Path:
    """Plan a run, or one for each version of TensorFlow, and return its folder."""
    with err.status("planning, and installing what is not there of TensorFlow" if tf else PLANNING):
        if tf:
            folder, begun = version_runs.begin(folder, request, tf)
        else:
            begun = [runs.begin(folder, request)]
            folder = begun[0].folder
    for one in begun:
        counts = f"{one.cases:,} cases, {one.skips:,} combinations that cannot be"
        err.print(f"{counts}; results in {escape(str(one.folder))}", soft_wrap=True)
    return folder


def probe_beside(folder: Path, options: judging.Judging) -> None:
    """Put beside a run what probes find; a run is worth having without, so that nothing here ends it."""
    try:
        with err.status("probing") as status:
            examination.keep_beside(
                folder, options.requires, lambda done, total: status.update(f"probing {done:,} of {total:,}")
            )
    except PyopbenchError as error:
        say(f"[yellow]warning:[/] nothing was probed: {escape(str(error))}", err)


def parts_of(folder: Path) -> list[Path]:
    """Return the runs in a folder: itself, or one for each version of TensorFlow."""
    return [version.folder for version in versions.read(folder)] if versions.is_here(folder) else [folder]


def refuse_with_resume(context: typer.Context, own: tuple[str, ...]) -> None:
    """Refuse options that would change a plan; `own` are names of parameters that tell where ops of one's own are."""
    options = {parameter.name: parameter for parameter in context.command.params}
    given = [
        options[name].opts[0] if options[name].param_type_name == "option" else " ".join(context.params[name])
        for name in options
        if name not in (*WITH_RESUME, *own)
        and (source := context.get_parameter_source(name))
        and source.name == "COMMANDLINE"
    ]
    if given:
        raise BadInput(
            "--resume continues a run as it was planned",
            received=f"--resume with {' '.join(given)}",
            legal="--resume DIR, and for the report --mix, --min-effect, --require, --calls-per-step, --step-ms",
            next_step="start a new run for anything else",
        )


def measure(folder: Path, options: judging.Judging) -> Ended | None:
    """Measure and return how it ended; None if no worker could be started any more."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends the run finds it as after Ctrl-C
    try:
        with err.status("starting"):  # a version of TensorFlow that is gone from the cache is installed again
            tasks = [_task(part, options) for part in parts_of(folder)]
        with progress() as show:
            ended = min(measure_together(tasks, show), key=lambda one: one.launches)
    except KeyboardInterrupt:
        name = escape(str(folder))
        err.print(f"interrupted; what was finished is in {name}", soft_wrap=True)
        err.print(f"  continue: {escape(runs.resume_command(folder))}", soft_wrap=True)
        err.print(f"  report:   pyopbench report {name}", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except WorkerLost as lost:  # what was measured before is worth its report
        say(f"[bold red]error:[/] {escape(str(lost))}", err)
        err.print(f"  continue: {escape(runs.resume_command(folder))}", soft_wrap=True)
        return None
    if ended.by == "budget":
        settings = tasks[0].settings
        spent = f"the budget of {settings.budget_seconds:g} s was spent"
        err.print(f"{spent} after {ended.launches} of at most {settings.launches} launches")
    return ended


def _task(folder: Path, options: judging.Judging) -> Task:
    settings = runs.settings_of(folder)
    look = partial(_look, folder, options, settings.launches)
    return Task(folder, settings, look, planning.python_for(runs.tf_of(folder)))


def _look(folder: Path, options: judging.Judging, most: int, launches: int) -> frozenset[str]:
    found = judging.look(folder, options, launches, most)
    goes_on = f"{text.count(len(found.open), 'case')} measured on" if found.open else "nothing is measured on"
    say(f"{progress_text(found)}; {goes_on}", err)
    return found.open

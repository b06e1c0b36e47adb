"""The command line. Handlers parse, call one function and print; results go to stdout, progress to stderr."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import pyopbench
from pyopbench import examination, judging, planning, runs, text, version_runs, versions
from pyopbench.arguments import parse_duration
from pyopbench.cli_build import build
from pyopbench.cli_certify import certify
from pyopbench.cli_compare import compare
from pyopbench.cli_copies import copies
from pyopbench.cli_errors import Debug, run_command
from pyopbench.cli_list import list_, verify
from pyopbench.cli_new import new
from pyopbench.cli_options import (
    AsJson,
    AxisTexts,
    Baseline,
    CallsPerStep,
    Devices,
    Directions,
    Gradients,
    Inputs,
    MemoryLimit,
    MinimumEffect,
    MixFile,
    Modes,
    Ops,
    Quiet,
    Requires,
    StepMilliseconds,
    TensorFlows,
    Variants,
    read_axes,
    read_judging,
    read_memory_limit,
)
from pyopbench.cli_output import err, out, printable
from pyopbench.cli_placement import placement
from pyopbench.cli_probe import probe
from pyopbench.cli_record import CONTEXT, record
from pyopbench.cli_report import print_report, progress, schema
from pyopbench.cli_scan import scan
from pyopbench.cli_versions import report_versions
from pyopbench.errors import BadInput, PyopbenchError, WorkerLost
from pyopbench.files import bring_own
from pyopbench.measure import Ended, Task, measure_together
from pyopbench.model import BASELINE, MINIMUM_EFFECT, Axes
from pyopbench.targets import is_target

EXIT_WRONG = 1
EXIT_INTERRUPTED = 130

EPILOG = (
    "**Exit codes**: 0 done; 1 a wrong variant or a slowdown was found, or a certificate missed; 2 bad usage or bad "
    "input; 3 nothing was measured; 130 interrupted, and `--resume` continues.\n\n"
    "**Output**: results go to stdout, progress and notes to stderr; plain text where it is piped or NO_COLOR is set. "
    "`--json` prints JSON, `--quiet` leaves out progress and notes.\n\n"
    "**Completion**: `pyopbench --install-completion` for the shell that you are in."
)
MEASURE, JUDGE, LOOK, TRUST = "Measure", "Judge what was measured", "Find and understand callbacks", "Trust and tools"

app = typer.Typer(
    name="pyopbench",
    help="Should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


WITH_RESUME = ("resume", "mix", "min_effect", "calls_per_step", "step_ms", "require", "as_json", "quiet")
"""What a run that is continued can be given: nothing that changes the plan."""


def main() -> None:
    """Run the command line; every error ends it with a message and an exit code."""
    run_command(app)


@app.callback()
def _whole(debug: Debug = False) -> None:
    pass


@app.command(rich_help_panel=MEASURE)
def run(
    context: typer.Context,
    ops: Ops = None,
    inputs: Inputs = None,
    quick: Annotated[bool, typer.Option("--quick", help="Three sizes, few launches: an answer in minutes.")] = False,
    variant: Variants = None,
    gradient: Gradients = None,
    direction: Directions = None,
    mode: Modes = None,
    device: Devices = None,
    axis: AxisTexts = None,
    baseline: Baseline = BASELINE,
    mix: MixFile = None,
    min_effect: MinimumEffect = MINIMUM_EFFECT,
    calls_per_step: CallsPerStep = None,
    step_ms: StepMilliseconds = None,
    launches: Annotated[
        int | None, typer.Option(min=2, help="Most worker processes: one number per case each.")
    ] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="Most timed blocks of a case in a launch.")] = None,
    budget: Annotated[str | None, typer.Option(help="Begin no third launch that would end later, e.g. 5m.")] = None,
    case_timeout: Annotated[str | None, typer.Option(help="Longest silence of one case, e.g. 60s.")] = None,
    memory_limit: MemoryLimit = None,
    seed: Annotated[int, typer.Option(min=0, help="Makes the order of everything repeatable.")] = 0,
    parts: Annotated[
        bool, typer.Option("--parts/--no-parts", help="Also measure where a callback's time goes.")
    ] = True,
    require: Requires = None,
    probes: Annotated[
        bool, typer.Option("--probes/--no-probes", help="Also try what today's callback blocks, once a machine.")
    ] = True,
    tf: TensorFlows = None,
    resume: Annotated[Path | None, typer.Option(metavar="DIR", help="Continue an interrupted run.")] = None,
    out_dir: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="New folder for the results.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure ops in every variant, store the samples and write the decision report."""
    options = read_judging(baseline, mix, min_effect, require, calls_per_step, step_ms)
    if resume is None:
        axes = read_axes(Axes(quick=quick, parts=parts), ops, variant, gradient, direction, mode, device, axis, inputs)
        settings = runs.QUICK if quick else runs.FULL
        changes: dict[str, Any] = {
            "seed": seed,
            "launches": launches or settings.launches,
            "first_look": min(settings.first_look, launches or settings.launches),
            "rounds": rounds or settings.rounds,
            "budget_seconds": _budget(settings.budget_seconds, tf) if budget is None else parse_duration(budget),
            "case_timeout_seconds": (
                settings.case_timeout_seconds if case_timeout is None else parse_duration(case_timeout)
            ),
            "memory_limit_bytes": read_memory_limit(memory_limit),
        }
        request = runs.Request(axes, replace(settings, **changes), baseline, ("pyopbench", *sys.argv[1:]))
        folder = _begin(out_dir, request, tf)
    else:
        _refuse_with_resume(context, ("ops", "inputs") if ops and all(map(is_target, ops)) else ())
        bring_own(ops or (), inputs or ())
        folder = resume
        for part in _parts(folder):
            runs.require_resumable(part)
            options = replace(options, baseline=runs.baseline_of(part))
        mixed = "an even mix of sizes" if mix is None else f"the mix of {mix}"
        err.print(f"judged by a minimum effect of {min_effect:g} and {escape(mixed)}, as given now", soft_wrap=True)
    if require or (probes and resume is None):
        for part in _parts(folder):
            _probe(part, options)
    ended = _measure(folder, options)
    if versions.is_here(folder):
        raise typer.Exit(report_versions(folder, options))
    runs.require_measured(folder)
    raise typer.Exit(_report([folder], folder, options, as_json=as_json, ended=ended))


def _budget(usual: float | None, tf: list[str] | None) -> float | None:
    return None if usual is None else usual * len(tf or [""])


def _begin(folder: Path | None, request: runs.Request, tf: list[str] | None) -> Path:
    with err.status("planning, and installing what is not there of TensorFlow" if tf else "planning"):
        if tf:
            folder, begun = version_runs.begin(folder, request, tf)
        else:
            begun = [runs.begin(folder, request)]
            folder = begun[0].folder
    for one in begun:
        counts = f"{one.cases:,} cases, {one.skips:,} combinations that cannot be"
        err.print(f"{counts}; results in {escape(str(one.folder))}", soft_wrap=True)
    return folder


def _probe(folder: Path, options: judging.Judging) -> None:
    """Put beside a run what probes find; a run is worth having without, so that nothing here ends it."""
    try:
        with err.status("probing") as status:
            examination.keep_beside(
                folder, options.requires, lambda done, total: status.update(f"probing {done:,} of {total:,}")
            )
    except PyopbenchError as error:
        err.print(f"[yellow]warning:[/] nothing was probed: {escape(str(error))}", soft_wrap=True)


def _parts(folder: Path) -> list[Path]:
    """Return the runs in a folder: itself, or one for each version of TensorFlow."""
    return [version.folder for version in versions.read(folder)] if versions.is_here(folder) else [folder]


def _refuse_with_resume(context: typer.Context, own: tuple[str, ...]) -> None:
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
            legal="--resume DIR, and --mix, --min-effect and --require for the report",
            next_step="start a new run for anything else",
        )


def _measure(folder: Path, options: judging.Judging) -> Ended | None:
    """Measure and return how it ended; None if no worker could be started any more."""
    tasks = [_task(part, options) for part in _parts(folder)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends the run finds it as after Ctrl-C
    try:
        with progress() as show:
            ended = min(measure_together(tasks, show), key=lambda one: one.launches)
    except KeyboardInterrupt:
        name = escape(str(folder))
        err.print(f"interrupted; what was finished is in {name}", soft_wrap=True)
        err.print(f"  continue: {escape(runs.resume_command(folder))}", soft_wrap=True)
        err.print(f"  report:   pyopbench report {name}", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    except WorkerLost as lost:  # what was measured before is worth its report
        err.print(f"[bold red]error:[/] {escape(str(lost))}", soft_wrap=True)
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
    err.print(f"{found.sentence}; {goes_on}")
    return found.open


@app.command(rich_help_panel=JUDGE)
def report(
    results: Annotated[
        list[Path],
        typer.Argument(help="Folders of runs, pooled if of one environment; or one file of asv or pytest-benchmark."),
    ],
    baseline: Annotated[str | None, typer.Option("--baseline", help="Default: the run's.")] = None,
    mix: MixFile = None,
    min_effect: MinimumEffect = MINIMUM_EFFECT,
    calls_per_step: CallsPerStep = None,
    step_ms: StepMilliseconds = None,
    require: Requires = None,
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Default: the first folder; of a file, results/report-NAME."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the decision report of stored results."""
    if len(results) == 1 and versions.is_here(results[0]):
        if as_json or out_dir:
            raise BadInput(
                "a run on several versions has a report for each, in its own folder",
                received=f"{results[0]} with {'--json' if as_json else '--out'}",
                legal="--json and --out with the folder of one version",
                next_step=f"pyopbench report {_parts(results[0])[0]}, or without these options",
            )
        usual = runs.baseline_of(_parts(results[0])[0])
        raise typer.Exit(
            report_versions(
                results[0], read_judging(baseline or usual, mix, min_effect, require, calls_per_step, step_ms)
            )
        )
    if not runs.are_own(results):
        from pyopbench.sources import read_cases

        usual = str(read_cases(results).settings["baseline"])
        # Nothing is put into folders of other tools, which take every JSON there for their own.
        folder = runs.RESULTS_FOLDER / f"report-{results[0].stem}"
    else:
        usual, folder = runs.baseline_of(results[0]), results[0]
        for path in results:
            runs.require_measured(path)
    options = read_judging(baseline or usual, mix, min_effect, require, calls_per_step, step_ms)
    raise typer.Exit(_report(results, out_dir or folder, options, as_json=as_json))


def _report(
    folders: list[Path], folder: Path, options: judging.Judging, *, as_json: bool = False, ended: Ended | None = None
) -> int:
    with err.status("judging"):
        judgement = judging.report(folders, folder, options)
    for warning in judgement.run.warnings:
        err.print(f"[yellow]warning:[/] {escape(printable(warning))}", soft_wrap=True)
    if as_json:
        out.print_json((folder / "decisions.json").read_text(encoding="utf-8"))
    else:
        print_report(judgement, folder, ended)
    return EXIT_WRONG if any(failure.status == "wrong" for failure in judgement.run.failures) else 0


app.command("list", rich_help_panel=MEASURE)(list_)
app.command(rich_help_panel=MEASURE)(verify)
app.command(rich_help_panel=MEASURE)(build)
app.command(rich_help_panel=JUDGE)(compare)
app.command(rich_help_panel=JUDGE)(schema)
app.command(rich_help_panel=LOOK)(scan)
app.command(rich_help_panel=LOOK, context_settings=CONTEXT)(record)
app.command(rich_help_panel=LOOK)(placement)
app.command(rich_help_panel=LOOK)(copies)
app.command(rich_help_panel=LOOK)(probe)
app.command(rich_help_panel=TRUST)(certify)
app.add_typer(new, name="new", rich_help_panel=TRUST)


@app.command(rich_help_panel=TRUST)
def version() -> None:
    """Print the version of pyopbench."""
    out.print(pyopbench.__version__)

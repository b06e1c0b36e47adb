"""The command line. Handlers parse, call one function and print; results go to stdout, progress to stderr."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import pyopbench
from pyopbench.api.alone import alone_on_this_machine
from pyopbench.api.listeners import ConsoleListener
from pyopbench.cli import epilogs
from pyopbench.cli.build import build
from pyopbench.cli.certify import certify
from pyopbench.cli.check import check
from pyopbench.cli.compare import compare
from pyopbench.cli.copies import copies
from pyopbench.cli.errors import Debug, FileLimit, run_command
from pyopbench.cli.fleet import fleet
from pyopbench.cli.history import history
from pyopbench.cli.list import list_, verify
from pyopbench.cli.merge import merge
from pyopbench.cli.new import new
from pyopbench.cli.options import (
    JUDGING,
    USUAL_EFFECT,
    AllowChanged,
    AsJson,
    AxisTexts,
    Baseline,
    CallsPerStep,
    Devices,
    Directions,
    Gradients,
    Inputs,
    MemoryLimit,
    MinimumEffectOrUsual,
    MixFile,
    Modes,
    Ops,
    Quiet,
    Replicates,
    Requires,
    SeedWith,
    ShardText,
    StepMilliseconds,
    TensorFlows,
    TrustFolder,
    Variants,
    out_option,
)
from pyopbench.cli.output import err, out
from pyopbench.cli.pipeline import pipeline
from pyopbench.cli.placement import placement
from pyopbench.cli.port import port
from pyopbench.cli.probe import probe
from pyopbench.cli.read_options import read_axes, read_judging, read_memory_limit, read_shard
from pyopbench.cli.record import CONTEXT, record
from pyopbench.cli.report import schema, write_report
from pyopbench.cli.resume import resume
from pyopbench.cli.revisions import Every, FailOn, Revisions, report_revisions, usual_effect_text
from pyopbench.cli.run import measure_and_report, refuse_json, telling_how_to_resume
from pyopbench.cli.run_options import (
    Budget,
    CaseTimeoutOrUsual,
    Launches,
    Linearity,
    Parts,
    Probes,
    Quick,
    Rounds,
    Seed,
    WhenToStop,
)
from pyopbench.cli.scan import scan
from pyopbench.cli.threads import Threads, measure_beside, read_threads
from pyopbench.cli.versions import report_versions
from pyopbench.engine import measure, plan, stored_run
from pyopbench.engine.measure import parts_of
from pyopbench.engine.revision_request import RevisionRequest, check_revisions
from pyopbench.engine.settings import settings_for
from pyopbench.engine.stored_run import find_target
from pyopbench.model.case import BASELINE, Axes
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import usual_baseline
from pyopbench.model.ownership import require_own
from pyopbench.model.parse import parse_duration
from pyopbench.store import versions

EPILOG = (
    "**Exit codes**: 0 success; 1 a wrong result, a slowdown, changed values or a failed certificate; 2 bad usage or "
    "bad input; 3 nothing was measured; 70 an internal error of pyopbench; 130 interrupted (`pyopbench resume DIR` "
    "continues).\n\n"
    "**Output**: results go to stdout, progress and notes to stderr. `--json` prints JSON, `--quiet` hides progress "
    "and notes. Text is plain where it is piped or NO_COLOR is set.\n\n"
    "**Completion**: `pyopbench --install-completion` sets it up for your shell."
)
MEASURE, JUDGE, LOOK, TRUST = "Measure", "Judge results", "Find and understand callbacks", "Tools"

app = typer.Typer(
    name="pyopbench",
    help="Should this Python op inside a TensorFlow graph be ported, to what, and what is it worth?",
    epilog=EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def main() -> None:
    """Run the command line; every error ends it with a message and an exit code."""
    run_command(app)


@app.callback()
def _whole(debug: Debug = False, file_limit: FileLimit = None) -> None:
    pass


@app.command(rich_help_panel=MEASURE, epilog=epilogs.RUN)
def run(
    context: typer.Context,
    ops: Ops = None,
    inputs: Inputs = None,
    seed_with: SeedWith = "",
    quick: Quick = False,
    variant: Variants = None,
    gradient: Gradients = None,
    direction: Directions = None,
    mode: Modes = None,
    device: Devices = None,
    axis: AxisTexts = None,
    baseline: Baseline = None,
    mix: MixFile = None,
    min_effect: MinimumEffectOrUsual = None,
    calls_per_step: CallsPerStep = None,
    step_ms: StepMilliseconds = None,
    launches: Launches = None,
    rounds: Rounds = None,
    until: WhenToStop = None,
    budget: Budget = None,
    case_timeout: CaseTimeoutOrUsual = None,
    memory_limit: MemoryLimit = None,
    seed: Seed = 0,
    parts: Parts = None,
    linearity: Linearity = False,
    threads: Threads = "",
    require: Requires = None,
    probes: Probes = True,
    tf: TensorFlows = None,
    rev: Revisions = None,
    every: Every = 1,
    fail_on: FailOn = None,
    shard: ShardText = None,
    replicates: Replicates = 1,
    out_dir: Annotated[Path | None, out_option("DIR", "New folder for the results. Default: results/DATE.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure ops in all variants, store the samples and write the decision report."""
    effect = min_effect or (usual_effect_text(fail_on) if rev else USUAL_EFFECT)
    options = read_judging(baseline or BASELINE, mix, effect, require, calls_per_step, step_ms)
    others = {"--tf": tf, "--rev": rev, "--shard": shard}
    numbers = read_threads(threads, [name for name, given in others.items() if given])
    if tf:
        refuse_json("--json with --tf", as_json=as_json)
    check_revisions(rev or (), tf or (), fail_on, every, options.minimum_effect)
    usual = Axes(quick=quick, parts=not rev if parts is None else parts)
    axes = read_axes(usual, ops, variant, gradient, direction, mode, device, axis, inputs, seed_with)
    options = replace(options, baseline=baseline or usual_baseline(axes.ops, axes.variants))
    settings = settings_for(
        axes,
        launches=launches,
        rounds=rounds,
        until=until,
        budget_seconds=None if budget is None else parse_duration(budget),
        case_timeout_seconds=None if case_timeout is None else parse_duration(case_timeout),
        memory_limit_bytes=read_memory_limit(memory_limit),
        linearity=linearity,
        seed=seed,
        versions=tf or (),
        revisions=rev or (),
    )
    request = plan.Request(
        axes, settings, options.baseline, ("pyopbench", *sys.argv[1:]), shard=read_shard(shard, replicates, rev)
    )
    several = RevisionRequest(tuple(rev), every, each_has_budget=budget is None) if rev else None
    folder = measure.begin(out_dir, request, ConsoleListener(err), tf=tf or (), revisions=several)
    is_probed = bool(require) or (probes and not rev)
    if numbers:
        with telling_how_to_resume(folder), alone_on_this_machine():
            measure_beside(folder, axes, numbers, request.settings.case_timeout_seconds)
    raise typer.Exit(measure_and_report(folder, options, probe=is_probed, as_json=as_json, fail_on=fail_on))


@app.command(rich_help_panel=JUDGE)
def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS", help="Folders of runs to pool, or one file of asv or pytest-benchmark."),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="The callback to compare with. Default: that of the run.",
            rich_help_panel=JUDGING,
        ),
    ] = None,
    mix: MixFile = None,
    min_effect: MinimumEffectOrUsual = None,
    calls_per_step: CallsPerStep = None,
    step_ms: StepMilliseconds = None,
    require: Requires = None,
    out_dir: Annotated[
        Path | None,
        out_option("DIR", "Folder for the report. Default: the first folder, or results/report-NAME for a file."),
    ] = None,
    fail_on: FailOn = None,
    trust_folder: TrustFolder = False,
    allow_changed: AllowChanged = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the decision report of stored results; of a run with --rev, the report of what changed."""
    if len(results) == 1 and versions.is_of_revisions(results[0]):
        require_own(results[0])
        options = read_judging(baseline or BASELINE, None, min_effect or usual_effect_text(fail_on))
        raise typer.Exit(report_revisions(results[0], options, fail_on, as_json=as_json))
    effect = min_effect or USUAL_EFFECT
    if len(results) == 1 and versions.is_here(results[0]):
        if as_json or out_dir:
            raise BadInput(
                "a run on several versions has one report per version",
                received=f"{results[0]} with {'--json' if as_json else '--out'}",
                legal="--json and --out with the folder of one version",
                hint=f"pyopbench report {parts_of(results[0])[0]}, or without these options",
            )
        for part in (results[0], *parts_of(results[0])):
            require_own(part)
        usual = stored_run.baseline_of(parts_of(results[0])[0])
        raise typer.Exit(
            report_versions(results[0], read_judging(baseline or usual, mix, effect, require, calls_per_step, step_ms))
        )
    usual, folder = find_target(results)
    require_own(out_dir or folder)
    options = read_judging(baseline or usual, mix, effect, require, calls_per_step, step_ms)
    raise typer.Exit(write_report(results, out_dir or folder, options, as_json=as_json))


app.command(rich_help_panel=MEASURE, epilog=epilogs.RESUME)(resume)
app.command(rich_help_panel=MEASURE, epilog=epilogs.MERGE)(merge)
app.command("list", rich_help_panel=MEASURE)(list_)
app.command(rich_help_panel=MEASURE)(verify)
app.command(rich_help_panel=MEASURE)(pipeline)
app.command(rich_help_panel=MEASURE, epilog=epilogs.BUILD)(build)
app.command(rich_help_panel=MEASURE, epilog=epilogs.PORT)(port)
app.add_typer(fleet, name="fleet", rich_help_panel=MEASURE)
app.command(rich_help_panel=JUDGE, epilog=epilogs.COMPARE)(compare)
app.command(rich_help_panel=JUDGE, epilog=epilogs.HISTORY)(history)
app.command(rich_help_panel=JUDGE, epilog=epilogs.CHECK)(check)
app.command(rich_help_panel=JUDGE)(schema)
app.command(rich_help_panel=LOOK, epilog=epilogs.SCAN)(scan)
app.command(rich_help_panel=LOOK, epilog=epilogs.RECORD, context_settings=CONTEXT)(record)
app.command(rich_help_panel=LOOK, epilog=epilogs.PLACEMENT)(placement)
app.command(rich_help_panel=LOOK, epilog=epilogs.COPIES)(copies)
app.command(rich_help_panel=LOOK)(probe)
app.command(rich_help_panel=TRUST, epilog=epilogs.CERTIFY)(certify)
app.add_typer(new, name="new", rich_help_panel=TRUST)


@app.command(rich_help_panel=TRUST)
def version() -> None:
    """Print the version of pyopbench."""
    out.print(pyopbench.__version__)

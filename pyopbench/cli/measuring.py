"""The commands that measure. What is heavy is imported when a command is called, so that --help answers at once."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyopbench.cli import options
from pyopbench.cli.options import WHAT, out_option, what_option
from pyopbench.model.arrangement import STEP_ELEMENTS
from pyopbench.model.case import GPU, MINIMUM_EFFECT, Axes
from pyopbench.model.errors import BadInput

if TYPE_CHECKING:
    from pyopbench.engine.port import WrittenPort
    from pyopbench.store.merge import Merging


TEST_SECONDS = 600.0
"""Time limit of the test that comes with a port."""
TIMED_SECONDS = 2.0
"""Seconds for which the port and the current callback are timed at each size."""


def run(
    ops: options.Ops = None,
    inputs: options.Inputs = None,
    seed_with: options.SeedWith = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Few sizes and launches: an answer in minutes.", rich_help_panel=WHAT)
    ] = False,
    variants: options.Variants = None,
    axis: options.Axis = None,
    baseline: options.Baseline = None,
    minimum_effect: options.MinimumEffect = None,
    launches: options.Launches = None,
    budget_seconds: options.Budget = None,
    requires: options.Requires = None,
    tf: Annotated[
        list[str] | None,
        what_option(
            "--tf", "VERSION", "TensorFlow version, installed into its own environment. Repeat to compare versions."
        ),
    ] = None,
    packages: Annotated[
        list[str] | None,
        what_option(
            "--with",
            "PACKAGE==VERSION",
            "Version of a package, such as numpy==1.26.4; several joined by commas. Repeat to compare.",
        ),
    ] = None,
    python: Annotated[
        list[str] | None,
        what_option(
            "--python", "PYTHON", "Interpreter or version of Python for an environment of its own. Repeat to compare."
        ),
    ] = None,
    rev: Annotated[
        list[str] | None,
        what_option("--rev", "REV", "A commit or WORKTREE of your op's repository. Repeat to compare."),
    ] = None,
    fail_on: options.FailOn = None,
    shard: Annotated[
        str | None,
        what_option("--shard", "I/N", "Measure only shard I of N of the plan; `fleet merge` combines the shards."),
    ] = None,
    listing: Annotated[
        bool,
        typer.Option(
            "--list", help="List ops, variants and cases, and why a case is not supported.", rich_help_panel=WHAT
        ),
    ] = False,
    out_path: Annotated[Path | None, out_option("DIR", "New folder for the results. Default: results/DATE.")] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> int:
    """Measure ops in all variants, store the samples and write the decision report.

    Measuring stops when more launches would change no answer, or at --budget. If you interrupt a run, pyopbench prints
    the command that resumes it.
    """
    from pyopbench.api.listeners import listener_here
    from pyopbench.api.measure import plan_run, read_axes
    from pyopbench.cli.run import measure_and_report, print_plan
    from pyopbench.model.side import combine_environments

    usual = Axes(quick=quick, parts=not rev)
    axes, own = read_axes(usual, ops or (), inputs or (), seed_with, axis or (), variants or ())
    environments = combine_environments(tf or (), packages or (), python or ())
    if listing:
        print_plan(axes, own, environments[0], as_json=as_json)
        return 0
    begun, judging = plan_run(
        out_path,
        listener_here(),
        ("pyopbench", *sys.argv[1:]),
        axes,
        own,
        baseline=baseline,
        minimum_effect=minimum_effect,
        requires=options.read_names("--require", requires),
        environments=environments,
        revisions=rev or (),
        fail_on=fail_on,
        budget_seconds=budget_seconds,
        launches=launches,
        shard=shard,
    )
    return measure_and_report(begun, judging, as_json=as_json, fail_on=fail_on)


def resume(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of an interrupted run.")],
    ops: Annotated[
        list[str] | None, typer.Argument(metavar="OP_FILE", help="Your own ops of that run, named as before.")
    ] = None,
    inputs: options.Inputs = None,
    seed_with: options.SeedWith = "",
    program: options.Program = "",
    mix: options.Mix = None,
    minimum_effect: options.MinimumEffect = None,
    requires: options.Requires = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Do not ask before TensorFlow is installed or revisions are checked out."),
    ] = False,
    fail_on: options.FailOn = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> int:
    """Continue an interrupted run as it was planned, and write the decision report.

    What to measure is stored with the run. Give the options for judging it (--mix, --min-effect, --require and so on)
    again, and name your own op files as before.
    """
    from pyopbench.api.results import how_to_judge
    from pyopbench.cli.run import measure_and_report, open_resumable

    run = open_resumable(folder, ops or (), inputs or (), seed_with, program, yes=yes)
    required = options.read_names("--require", requires)
    judging, fail_on = how_to_judge([run], run.plan.settings.baseline, minimum_effect, mix, required, fail_on)
    return measure_and_report(run, judging, as_json=as_json, fail_on=fail_on)


def verify(
    ops: options.Ops = None,
    inputs: options.Inputs = None,
    seed_with: options.SeedWith = "",
    variants: options.Variants = None,
    axis: options.Axis = None,
    requires: options.Requires = None,
    tf: options.OneTf = None,
    as_json: options.AsJson = False,
) -> int:
    """Check values against NumPy, and gradients against a reference and finite differences."""
    from pyopbench.api.measure import read_axes
    from pyopbench.cli.run import check_cases
    from pyopbench.engine.verify import EVERYTHING
    from pyopbench.judge.requirements import check

    required = check(options.read_names("--require", requires))
    if GPU in required:
        raise BadInput(
            "verify cannot try this requirement",
            received=f"--require {GPU}",
            hint="a run on a GPU shows what works there: pyopbench run OP --axis device=gpu",
        )
    axes, own = read_axes(EVERYTHING, ops or (), inputs or (), seed_with, axis or (), variants or ())
    return check_cases(axes, own, required, tf, as_json=as_json)


def pipeline(
    op: options.OneOp,
    inputs: options.Inputs = None,
    seed_with: options.SeedWith = "",
    program: options.Program = "",
    size: Annotated[
        int | None, what_option("--size", "N", "Size of one element. Default: a middle size of the op.")
    ] = None,
    dtype: Annotated[
        str | None, what_option("--dtype", "NAME", "float32 or float64. Default: the first of the op.")
    ] = None,
    parallel: Annotated[
        str,
        what_option("--parallel", "N,N", "Values of num_parallel_calls to try. Default: 1, the cores, AUTOTUNE."),
    ] = "",
    batch: Annotated[
        str, what_option("--batch", "N,N", "Batch sizes to try where the callback gets a batch.")
    ] = "1,32,256",
    baseline: options.Baseline = None,
    step_ms: Annotated[
        float | None,
        typer.Option(
            metavar="MS",
            help="How long a training step takes if its input is ready.",
            rich_help_panel=options.JUDGING,
        ),
    ] = None,
    step_elements: Annotated[
        int, typer.Option(metavar="N", min=1, help="Elements per training step.", rich_help_panel=options.JUDGING)
    ] = STEP_ELEMENTS,
    minimum_effect: options.MinimumEffect = None,
    launches: options.Launches = None,
    budget_seconds: options.Budget = None,
    out_path: Annotated[Path | None, out_option("DIR", "New folder for the results. Default: results/DATE.")] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> int:
    """Measure an op inside tf.data, and find the best of threads, batches, processes and ports."""
    from pyopbench.api.listeners import alone_on_this_machine, listener_here, say_planned
    from pyopbench.api.results import judging_of
    from pyopbench.cli.run import measure_and_report
    from pyopbench.engine import pipeline as pipelines
    from pyopbench.judge.pipeline import TrainingStep
    from pyopbench.model.discover import read_ops
    from pyopbench.model.own_target import usual_baseline

    step = TrainingStep(step_elements, None if step_ms is None else step_ms / 1000)
    (name,), own = read_ops([op], inputs or (), seed_with)
    own = pipelines.with_program(name, own, program)
    request = pipelines.PipelineRequest(
        name,
        size,
        dtype,
        parallel=options.read_numbers("--parallel", parallel) or pipelines.usual_parallel(),
        batch=options.read_numbers("--batch", batch),
        baseline=baseline or usual_baseline([name], own),
        launches=launches,
        step_seconds=step.seconds_per_element,
        step_elements=step_elements,
        minimum_effect=minimum_effect or MINIMUM_EFFECT,
        budget_seconds=pipelines.BUDGET_SECONDS if budget_seconds is None else budget_seconds,
        own=own,
    )
    judging = judging_of(request.baseline, request.minimum_effect)
    listener = listener_here()
    with alone_on_this_machine(), listener.busy("planning"):  # which would disturb another measurement
        begun = pipelines.begin(out_path, request, ("pyopbench", *sys.argv[1:]))
    say_planned(begun, listener)
    return measure_and_report(begun, judging, as_json=as_json)


def port(
    op: Annotated[
        str, typer.Argument(metavar="OP", help="my_op.py, my_module.py:function or package.module:function.")
    ],
    to: Annotated[
        str, typer.Option(metavar="VARIANT", help="Variant to write: traced or numba_op; docs/port.md lists all.")
    ],
    out_path: Annotated[Path, out_option("FILE", "The new file, e.g. ported.py; its test goes to test_ported.py.")],
    inputs: options.Inputs = None,
    seed_with: options.SeedWith = "",
    quiet: options.Quiet = False,
) -> None:
    """Write a port of your op as source code, with a test against the old function.

    The test runs before anything is written, in a process that cannot import pyopbench.
    """
    from pyopbench.cli.output import err
    from pyopbench.engine.port import write_port
    from pyopbench.model.discover import read_ops

    (name,), own = read_ops([op], inputs or (), seed_with)
    if not own:
        raise BadInput(
            "only your own ops can be ported",
            received=op,
            hint="name my_op.py, my_module.py:function or package.module:function; "
            "the sources of built-in ops are in pyopbench/ops/builtin/",
        )
    with err.status("writing, testing and timing the port"):
        written = write_port(own[name], to, out_path, TEST_SECONDS, timed_seconds=TIMED_SECONDS)
    _print_port(written)


def _print_port(written: WrittenPort) -> None:
    """Print what was written, what was checked, and how to run the test."""
    from rich.markup import escape

    from pyopbench.cli.output import err, out, say
    from pyopbench.judge.ports import notes_text, pays_text

    for path in (written.port, written.test):
        out.print(f"written: {escape(str(path))}", soft_wrap=True)
    say(escape(f"tested without pyopbench: {', '.join(written.passed)}"))
    if written.ratios:
        say(escape(pays_text(written.ratios)))
    for note in notes_text(written.notes, written.not_run, is_formatted=written.is_formatted):
        say(escape(note), err)
    if written.dataset:
        out.print(escape(f"call it in a pipeline: {written.dataset}"), soft_wrap=True)
    out.print(f"run its test: {escape(shlex.join([sys.executable, str(written.test)]))}", soft_wrap=True)


def run_fleet(
    context: typer.Context,
    scheduler: Annotated[str, typer.Option(metavar="ADDRESS", help="The Dask scheduler, e.g. tls://host:8786.")],
    shards: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of shards of the plan. Default: one per worker."),
    ] = None,
    out_path: Annotated[Path | None, out_option("DIR", "New folder for the shards and the merged run.")] = None,
    quiet: options.Quiet = False,
) -> int:
    """Measure the shards of a plan on the workers of a Dask scheduler, and merge them.

    Ops and all other options are those of `pyopbench run`. Op files and arrays that they name are sent along. Dask's
    own configuration says how connections are secured.
    """
    from rich.markup import escape

    from pyopbench.cli.output import err, say
    from pyopbench.engine.fleet import measure_shards
    from pyopbench.engine.plan import new_folder
    from pyopbench.model.errors import EXIT_WRONG
    from pyopbench.model.formatting import printable

    merging, is_wrong = measure_shards(
        scheduler, context.args, out_path or new_folder(), shards, lambda text: say(escape(printable(text)), err)
    )
    _print_merging(merging)
    return EXIT_WRONG if is_wrong else 0


def merge(
    shards: Annotated[
        list[Path],
        typer.Argument(metavar="SHARD", help="Folders of pyopbench run --shard I/N, all of one plan."),
    ],
    out_path: Annotated[Path, out_option("DIR", "New folder for the whole run.")],
    quiet: options.Quiet = False,
) -> None:
    """Merge the shards of a plan into one run, with the environment of each machine."""
    from pyopbench.cli.output import err
    from pyopbench.store.merge import merge as merge_shards

    with err.status("merging"):
        merging = merge_shards(shards, out_path)
    _print_merging(merging)


def _print_merging(merging: Merging) -> None:
    """Print which shards were merged, and into what, and what comes next."""
    from rich.markup import escape

    from pyopbench.cli.output import out, say
    from pyopbench.model import formatting

    machines = formatting.count(len(merging.hosts), "machine")
    shards = formatting.count(merging.shards, "shard")
    say(f"{shards}, from {machines}; results in {escape(str(merging.folder))}")
    out.print(f"  next: {escape(f'pyopbench report {shlex.quote(str(merging.folder))}')}", soft_wrap=True)

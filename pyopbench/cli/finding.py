"""The commands that find callbacks, and those about this machine. What is heavy is imported when one is called."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from pyopbench.cli import options
from pyopbench.cli.options import duration_option, out_option, path_option
from pyopbench.model.case import GPU, MINIMUM_EFFECT
from pyopbench.model.errors import EXIT_INTERRUPTED, EXIT_WRONG, BadInput

if TYPE_CHECKING:
    from pyopbench.advise.attempt import Advice
    from pyopbench.engine.doctor import Examination


def scan(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="PATH", help="Python files, notebooks or folders.")
    ] = None,
    sarif: Annotated[
        Path | None,
        out_option("FILE", "Also write the callbacks as SARIF 2.1.0, for code scanning.", "--sarif"),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Find Python callbacks (py_function, numpy_function, py_func) in sources and notebooks.

    Sources are parsed, never run. Hidden folders, virtual environments and results of advise are skipped unless you
    name them.
    """
    from time import perf_counter

    from pyopbench.cli.find import print_scan, print_scan_json
    from pyopbench.cli.output import err
    from pyopbench.find.sarif import sarif_log
    from pyopbench.find.scan import scan as scan_paths
    from pyopbench.model import formatting
    from pyopbench.model.files import write_atomically

    if not paths:
        raise BadInput("nothing to scan", received="no PATH", hint="for example `pyopbench scan .`")
    start = perf_counter()
    with err.status("scanning"):
        found = scan_paths(paths)
    lines, files = formatting.count(found.lines, "line"), formatting.count(found.files, "file")
    err.print(f"{lines} of Python in {files}, {formatting.seconds(perf_counter() - start)}")
    (print_scan_json if as_json else print_scan)(found)
    if sarif is not None:
        write_atomically(sarif, f"{json.dumps(sarif_log(found, Path.cwd()), indent=1)}\n".encode())
        err.print(f"SARIF: {sarif}", soft_wrap=True, markup=False)


def record(
    command: options.Command = None,
    out_path: Annotated[Path | None, out_option("FILE", "The recording. Default: recording-DATE.json.")] = None,
) -> int:
    """Run your program, count its Python callbacks, and show which cost most of the run.

    The program keeps its output and its exit code; pyopbench writes to stderr. If the program fails or is interrupted,
    what was counted so far is kept.
    """
    from pyopbench.cli.find import print_usage
    from pyopbench.find.record import record as run_and_record

    if not command:
        raise BadInput(
            "no program to run",
            received="nothing after --",
            hint="for example `pyopbench record -- python train.py --epochs 1`",
        )
    file = out_path or Path(f"recording-{_now()}.json")
    code, used = run_and_record(command, file)
    print_usage(used, file, command)
    return code


def advise(
    command: options.Command = None,
    out_path: Annotated[Path | None, out_option("DIR", "New folder for all results. Default: advice-DATE.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="End each run of the program after N elements (batches) of its input."),
    ] = None,
    seconds: Annotated[
        float | None, duration_option("--seconds", "End each run of the program after this time, e.g. 40s.")
    ] = None,
    budget_seconds: Annotated[
        float | None, duration_option("--budget", "Stop after about this time, e.g. 5m. Default: 4m.")
    ] = None,
    minimum_effect: options.MinimumEffect = None,
    check: Annotated[
        Path | None,
        path_option(
            "--check", "FILE", "Only record; fail if a callback is not in that report.json, or was ported there."
        ),
    ] = None,
) -> int:
    """Make a program faster: record it, decide on each callback, try changes in a copy, and write a patch.

    The program runs in copies of its folder (the git repository, or the current folder), several times; your files are
    not touched.
    """
    from rich.markup import escape

    from pyopbench.advise.advise import advise as make_advice
    from pyopbench.advise.advise import check as check_advice
    from pyopbench.advise.attempt import Options
    from pyopbench.advise.program import Program
    from pyopbench.api.listeners import listener_here
    from pyopbench.cli.output import say

    folder = out_path or Path(f"advice-{_now()}")
    program = Program.here(command or (), Path.cwd(), [folder])
    wanted = Options(steps, seconds, minimum_effect=minimum_effect or MINIMUM_EFFECT)
    if budget_seconds is not None:
        wanted = replace(wanted, budget_seconds=budget_seconds)
    listener = listener_here()
    if check is not None:
        with TemporaryDirectory() as scratch:
            new = check_advice(program, out_path or Path(scratch, "advice"), wanted, check, listener)
        for callback in new:
            say(escape(callback))
        say("no new callbacks, and none that had been ported" if not new else "[bold red]failed[/]")
        return EXIT_WRONG if new else 0
    _print_advice(make_advice(program, folder, wanted, listener))
    return 0


def _print_advice(advice: Advice) -> None:
    """Write the report, and print what to do, a line for each callback, and why."""
    from rich.markup import escape

    from pyopbench.advise import report
    from pyopbench.cli.output import out, print_table, say

    page = report.write(advice)
    say(f"[bold]{escape(report.headline(advice))}[/]")
    for command in report.commands(advice):
        out.print(f"  {escape(command)}", soft_wrap=True)
    if advice.rows:
        out.print()
        print_table(report.table_title(advice), report.COLUMNS, report.rows(advice, report.LONGEST_NAME))
        for reason in report.reasons(advice):
            say(escape(reason), mark="- ")
    out.print(f"report: {escape(str(page))}", soft_wrap=True)


def placement(
    ops: options.Ops = None,
    inputs: options.Inputs = None,
    seed_with: options.SeedWith = "",
    device: Annotated[
        str, typer.Option(metavar="NAME", help="simulated, or gpu if TensorFlow sees one.")
    ] = "simulated",
    variants: options.Variants = None,
    times: Annotated[bool, typer.Option("--time", help="Also time copies between host and GPU, by size.")] = False,
    tf: options.OneTf = None,
    as_json: options.AsJson = False,
    out_path: Annotated[Path | None, out_option("FILE", "Save as JSON.")] = None,
) -> int:
    """Count copies between host and device per call, by variant and place of the data.

    The simulated device needs a C++ compiler and no GPU, and its counts are the same every time.
    """
    from pyopbench.api.listeners import alone_on_this_machine, announce, listener_here
    from pyopbench.api.measure import read_axes
    from pyopbench.cli.find import print_copies
    from pyopbench.cli.output import err, out
    from pyopbench.engine import placement as engine
    from pyopbench.model.discover import require_known
    from pyopbench.model.files import write_atomically
    from pyopbench.model.side import Environment

    require_known("device", [device], engine.DEVICES)
    axes, own = read_axes(engine.EVERYTHING, ops or (), inputs or (), seed_with, (), variants or ())
    if times and (device != GPU or tf is not None):
        raise BadInput(
            "copies are timed on a GPU, with the TensorFlow that is installed",
            received=f"--time with --device {device}" + (f" and --tf {tf}" if tf else ""),
            hint="use --device gpu --time",
        )
    announce([Environment(tf)], listener_here())
    with err.status("counting") as status:
        document = engine.count(
            axes, device, lambda done, total: status.update(f"counting {done:,} of {total:,}"), tf, own
        )
    if times:
        with alone_on_this_machine(), err.status("timing"):
            document["times"] = engine.measure_copies()
    text = json.dumps(document, indent=1) + "\n"
    if out_path is not None:
        write_atomically(out_path, text.encode())
    if as_json:
        out.file.write(text)
    else:
        print_copies(document)
    return EXIT_WRONG if any(failure["status"] == "wrong" for failure in document["failures"]) else 0


def certify(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer pairs: 4 minutes instead of 50.")] = False,
    out_path: Annotated[Path | None, out_option("DIR", "New folder for the results.")] = None,
    as_json: options.AsJson = False,
) -> int:
    """Measure how reliable pyopbench's verdicts are on this machine.

    Variants are compared with copies of themselves, and callbacks with copies slowed down by 5% and 10%.
    """
    from rich.markup import escape

    from pyopbench.api.listeners import alone_on_this_machine, listener_here, show
    from pyopbench.cli.output import err, out, print_table, say
    from pyopbench.engine import certify as engine
    from pyopbench.engine.plan import RESULTS_FOLDER

    folder = out_path or RESULTS_FOLDER / f"certify-{_now()}"
    try:
        with alone_on_this_machine():
            trials = engine.QUICK if quick else engine.FULL
            figures = show(engine.certify(folder, trials, ("pyopbench", *sys.argv[1:])), listener_here())
            assert isinstance(figures, tuple)
    except KeyboardInterrupt:
        err.print(f"interrupted; the measurements so far are in {folder}; start again", soft_wrap=True, markup=False)
        return EXIT_INTERRUPTED
    if as_json:
        out.print_json((folder / engine.FILE).read_bytes().decode())
    else:
        rows = [(figure.what, figure.found, figure.promised) for figure in figures]
        print_table("How reliable pyopbench is on this machine", ("what", "found", "promised"), rows)
        out.print(f"certificate: {folder / engine.FILE}", soft_wrap=True, markup=False)
    missed = [figure for figure in figures if not figure.is_kept]
    for figure in missed:
        text = f"{figure.what}: {figure.found}, promised: {figure.promised}"
        say(f"[bold red]missed:[/] {escape(text)}", err)
    return EXIT_WRONG if missed else 0


def doctor(as_json: options.AsJson = False, quiet: options.Quiet = False) -> None:
    """Check what each command needs on this machine, and show how to fix what is missing.

    This starts TensorFlow and compiles a small C++ kernel, which is kept in the cache; the first time, it takes half a
    minute. Exit code 0, even if something is missing.
    """
    from pyopbench.cli.output import err, out
    from pyopbench.engine.doctor import examine

    with err.status("starting TensorFlow, and compiling a kernel unless one is in the cache"):
        examination = examine()
    if as_json:
        out.print_json(json.dumps(asdict(examination)))
    else:
        _print_examination(examination)


def _print_examination(examination: Examination) -> None:
    from rich.markup import escape

    from pyopbench.cli.output import out, print_table, say
    from pyopbench.model import formatting

    machine = examination.machine
    memory = f", {formatting.byte_count(machine['memory_bytes'])}" if machine["memory_bytes"] else ""
    cores = formatting.count(machine["cores"], "core")
    name = machine["cpu"] or "unknown processor"
    say(escape(f"{name}, {cores}{memory}, {machine['os']}, Python {machine['python']}"))
    out.print()
    rows = [
        (
            check.name,
            check.needed_by,
            f"{check.found or 'missing'}{', see below' if check.lack and check.found else ''}",
        )
        for check in examination.checks
    ]
    print_table(f"pyopbench {machine['pyopbench']} on this machine", ("what", "needed for", "found"), rows)
    lacks: dict[str, list[str]] = {}
    for check in examination.lacking:
        lacks.setdefault(check.lack, []).append(check.name)
    for lack, names in lacks.items():
        say(f"[bold]{escape(formatting.listing(names))}:[/] {escape(lack)}", mark="- ")
    if not lacks:
        out.print("nothing is missing")


def _now() -> str:
    return f"{datetime.now(timezone.utc):%Y%m%d-%H%M%S}"

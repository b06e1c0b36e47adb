"""`pyopbench run`, and what `resume` does alike: measure, report, end when interrupted."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from pyopbench.api.judging import judging_of
from pyopbench.api.listeners import ConsoleListener, alone_on_this_machine
from pyopbench.cli.checked_values import read_axes, read_shard
from pyopbench.cli.output import err
from pyopbench.cli.report import write_report
from pyopbench.cli.sides import report_sides
from pyopbench.engine import measure, memory, plan, sides, stored_run
from pyopbench.engine.pipeline import require_current
from pyopbench.engine.settings import settings_for
from pyopbench.judge import judge
from pyopbench.model.case import BASELINE, Axes
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import usual_baseline
from pyopbench.model.parse import split_some
from pyopbench.model.side import combine_environments
from pyopbench.store.run_sides import OpenRun

EXIT_INTERRUPTED = 130


def run(
    *,
    ops: Sequence[str],
    inputs: Sequence[str],
    seed_with: str,
    quick: bool,
    device: Sequence[str],
    axis: Any,
    baseline: str | None,
    mix: Path | None,
    minimum_effect: float | None,
    requires: Sequence[str],
    memory_limit_bytes: int | None,
    parts: bool | None,
    threads: str,
    tf: Sequence[str],
    packages: Sequence[str],
    python: Sequence[str],
    rev: Sequence[str],
    fail_on: str | None,
    shard: str | None,
    settings: Any,
    out_path: Path | None,
    as_json: bool,
    variants: Sequence[str],
    gradients: Sequence[str],
    directions: Sequence[str],
    modes: Sequence[str],
    **length: Any,
) -> int:
    """Measure ops in all variants, store the samples, write the decision report, and return the exit code."""
    rare = dict(settings)
    effect, _ = sides.resolve_thresholds(None, minimum_effect, fail_on)
    options = judging_of(baseline or BASELINE, effect, mix, requires)
    asked = sides.AskedSides(
        tuple(combine_environments(tf, packages, python)),
        tuple(rev),
        fail_on=fail_on,
        minimum_effect=effect,
        each_has_budget=length["budget_seconds"] is None,
    )
    sides.check_sides(asked)
    if memory_limit_bytes is not None:
        memory.require_limitable(memory_limit_bytes)
    axes, own = read_axes(
        Axes(quick=quick, parts=not rev if parts is None else parts, threads=read_threads(threads)),
        ops,
        inputs,
        seed_with,
        axis,
        variants=variants,
        gradients=gradients,
        directions=directions,
        modes=modes,
        placements=device,
    )
    options = replace(options, baseline=baseline or usual_baseline(axes.ops, own, axes.variants))
    planned = settings_for(
        axes,
        memory_limit_bytes=memory_limit_bytes,
        compares=not asked.are_just_here,
        rounds=rare.get("rounds"),
        case_timeout_seconds=rare.get("case_timeout"),
        linearity=rare.get("linearity", False),
        seed=rare.get("seed", 0),
        **length,
    )
    part = read_shard(shard, rare.get("replicates", 1), rev)
    request = plan.Request(axes, planned, options.baseline, ("pyopbench", *sys.argv[1:]), shard=part, own=own)
    begun = measure.begin(out_path, request, ConsoleListener(err), asked)
    return measure_and_report(begun, options, as_json=as_json, fail_on=fail_on)


def measure_and_report(run: OpenRun, options: judge.Judging, *, as_json: bool, fail_on: str | None = None) -> int:
    """Measure what is left of a run, write and print its report, and return the exit code.

    Nobody else measures on this machine meanwhile: a report takes processor time that others would measure.

    Args:
        run: that was begun.
        options: how to judge.
        as_json: print decisions.json in place of tables.
        fail_on: what a run on several sides fails on, as in `parse.parse_fail_on`.
    """
    listener = ConsoleListener(err)
    with ExitStack() as until_reported:
        with telling_how_to_resume(run):
            until_reported.enter_context(alone_on_this_machine())  # who is waiting can be interrupted, too
            ended = measure.measure(run, options, listener)
        if run.has_several_sides:
            return report_sides(run, options, fail_on, as_json=as_json)
        stored_run.require_measured(run.measured[0])
        if run.measured[0].content.pipeline is not None:
            require_current(run)
        return write_report([run], run.folder, options, as_json=as_json, ended=ended)


@contextmanager
def telling_how_to_resume(run: OpenRun) -> Iterator[None]:
    """Where an interrupt ends what is done within, print the command that resumes the run, and exit."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends the run finds it as after Ctrl-C
    try:
        yield
    except KeyboardInterrupt:
        name = shlex.quote(str(run.folder))
        err.print(f"interrupted; finished measurements are in {escape(str(run.folder))}", soft_wrap=True)
        err.print(f"  resume: {escape(stored_run.resume_command(run))}", soft_wrap=True)
        err.print(f"  report: {escape(f'pyopbench report {name}')}", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


MOST_THREADS = 256


def read_threads(text: str) -> tuple[int, ...]:
    """Return the numbers of threads of a command line, ascending; none for an empty text.

    Raises:
        BadInput: no numbers.
    """
    words = split_some("--threads", [text]) if text else []
    numbers = tuple(sorted({int(word) for word in words if word.isdecimal()}))
    if not all(word.isdecimal() for word in words) or any(not 1 <= one <= MOST_THREADS for one in numbers):
        raise BadInput(
            "--threads takes numbers",
            received=text,
            legal=f"whole numbers from 1 to {MOST_THREADS}, comma-separated",
            hint="for example --threads 1,2,4",
        )
    return numbers

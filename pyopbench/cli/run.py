"""`pyopbench run`, and what `resume` does alike: measure, report, end when interrupted."""

from __future__ import annotations

import json
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
from pyopbench.api.listeners import ConsoleListener, alone_on_this_machine, begin_run, follow
from pyopbench.cli.checked_values import read_axes, read_shard
from pyopbench.cli.output import err, out, print_table
from pyopbench.cli.report import write_report
from pyopbench.cli.sides import report_sides
from pyopbench.engine import plan, sides, stored_run
from pyopbench.engine.pipeline import require_current
from pyopbench.engine.settings import settings_for
from pyopbench.judge import judge
from pyopbench.model import formatting
from pyopbench.model.case import BASELINE, MODE_SUMMARIES, Axes
from pyopbench.model.errors import EXIT_INTERRUPTED
from pyopbench.model.own_target import OwnOps, usual_baseline
from pyopbench.model.side import combine_environments
from pyopbench.store.run_sides import OpenRun


def run(
    *,
    ops: Sequence[str],
    inputs: Sequence[str],
    seed_with: str,
    quick: bool,
    variants: Sequence[str],
    axis: Any,
    baseline: str | None,
    minimum_effect: float | None,
    launches: int | None,
    budget_seconds: float | None,
    requires: Sequence[str],
    tf: Sequence[str],
    packages: Sequence[str],
    python: Sequence[str],
    rev: Sequence[str],
    fail_on: str | None,
    shard: str | None,
    listing: bool,
    out_path: Path | None,
    as_json: bool,
) -> int:
    """Measure ops in all variants, store the samples, write the decision report, and return the exit code."""
    effect, _ = sides.resolve_thresholds(None, minimum_effect, fail_on)
    options = judging_of(baseline or BASELINE, effect, requires=requires)
    asked = sides.AskedSides(
        tuple(combine_environments(tf, packages, python)),
        tuple(rev),
        fail_on=fail_on,
        minimum_effect=effect,
        each_has_budget=budget_seconds is None,
    )
    sides.check_sides(asked)
    axes, own = read_axes(Axes(quick=quick, parts=not rev), ops, inputs, seed_with, axis, variants=variants)
    if listing:
        print_plan(axes, own, as_json=as_json)
        return 0
    options = replace(options, baseline=baseline or usual_baseline(axes.ops, own, axes.variants))
    compares = not asked.are_just_here
    planned = settings_for(axes, launches=launches, budget_seconds=budget_seconds, compares=compares)
    part = read_shard(shard, rev)
    request = plan.Request(axes, planned, options.baseline, ("pyopbench", *sys.argv[1:]), shard=part, own=own)
    begun = begin_run(out_path, request, ConsoleListener(err), asked)
    return measure_and_report(begun, options, as_json=as_json, fail_on=fail_on)


MOST_SKIPS = 40
"""So many unsupported cases are listed one by one; --json has all."""


def print_plan(axes: Axes, own: OwnOps, *, as_json: bool) -> None:
    """Print ops, variants and cases, and why a case is not supported; nothing is measured."""
    with err.status("asking TensorFlow"):
        found = plan.ask_for_plan(axes, own, compiles=False)
    if as_json:
        out.print_json(json.dumps(found))
        return
    catalogue, skips = found["catalogue"], found["skips"]
    print_table("Ops", ("op", "what it is", "sizes"), [_op_row(*item) for item in catalogue["ops"].items()])
    variants = [(name, one["kind"], one["summary"]) for name, one in catalogue["variants"].items()]
    print_table("Variants", ("variant", "kind", "what it is"), variants)
    print_table("Modes", ("mode", "what is timed"), list(MODE_SUMMARIES.items()))
    counted = [(count, reason) for reason, count in plan.count_reasons(skips)]
    print_table(f"{len(found['cases']):,} cases; {len(skips):,} not supported", ("cases", "why not"), counted)
    for skip in skips[:MOST_SKIPS]:
        out.print(f"{skip['case']}  not supported: {escape(skip['reason'])}", soft_wrap=True)
    if len(skips) > MOST_SKIPS:
        out.print(f"and {len(skips) - MOST_SKIPS:,} more, in --json")


def _op_row(name: str, op: dict[str, Any]) -> tuple[str, str, str]:
    sizes = op["sizes"]
    return name, op["summary"], formatting.sized(sizes[0], str(op["size_unit"]), sizes[-1])


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
            ended = follow(run, options, listener)
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

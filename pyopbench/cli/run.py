"""What commands that measure do alike: list a plan, measure, report, say how to resume when interrupted."""

from __future__ import annotations

import json
import shlex
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import typer
from rich.markup import escape

from pyopbench.api.listeners import alone_on_this_machine, follow, listener_here
from pyopbench.cli.output import err, out, print_table
from pyopbench.cli.report import write_report
from pyopbench.cli.sides import report_sides
from pyopbench.engine import plan, stored_run
from pyopbench.engine.pipeline import require_current
from pyopbench.judge import judge
from pyopbench.model import formatting
from pyopbench.model.case import MODE_SUMMARIES, Axes
from pyopbench.model.errors import EXIT_INTERRUPTED
from pyopbench.model.own_target import OwnOps
from pyopbench.store.run import OpenRun

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
    listener = listener_here()
    with ExitStack() as until_reported:
        with telling_how_to_resume(run):
            until_reported.enter_context(alone_on_this_machine())  # who is waiting can be interrupted, too
            ended = follow(run, options, listener)
        if run.has_several_sides:
            return report_sides(run, options, fail_on, as_json=as_json)
        stored_run.require_measured(run.measured[0])
        if run.plan.pipeline is not None:
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

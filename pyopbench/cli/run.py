"""What commands that measure do: list a plan, measure and report, resume, and verify without measuring."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import typer
from rich.markup import escape

from pyopbench.api.listeners import alone_on_this_machine, announce, follow, listener_here
from pyopbench.cli.compare import report_sides
from pyopbench.cli.output import err, errors, out, print_failures, print_table, say
from pyopbench.cli.report import write_report
from pyopbench.engine import environments, plan, sides, stored_run
from pyopbench.engine.pipeline import with_program
from pyopbench.engine.verify import Finding, verify
from pyopbench.judge import judge
from pyopbench.model import formatting
from pyopbench.model.case import MODE_SUMMARIES, Axes, Case
from pyopbench.model.discover import read_ops
from pyopbench.model.errors import EXIT_INTERRUPTED, EXIT_WRONG, BadInput
from pyopbench.model.own_target import OwnOps, is_target
from pyopbench.model.side import Environment
from pyopbench.store.run import OpenRun, open_run, short_hash

MOST_SKIPS = 40
"""So many unsupported cases are listed one by one; --json has all."""


def print_plan(axes: Axes, own: OwnOps, environment: Environment, *, as_json: bool) -> None:
    """Print ops, variants and cases, and why a case is not supported; nothing is measured."""
    announce([environment], listener_here())
    with err.status("asking TensorFlow"):
        found = plan.ask_for_plan(axes, own, compiles=False, environment=environment)
    if as_json:
        out.print_json(json.dumps(found))
        return
    catalogue, skips = found["catalogue"], found["skips"]
    print_table("Ops", ("op", "what it is", "sizes"), [_op_row(*item) for item in catalogue["ops"].items()])
    variants = [(name, one["kind"], one["summary"]) for name, one in catalogue["variants"].items()]
    print_table("Variants", ("variant", "kind", "what it is"), variants)
    print_table("Modes", ("mode", "what is timed"), list(MODE_SUMMARIES.items()))
    counted = [(count, reason) for reason, count in Counter(skip["reason"] for skip in skips).most_common()]
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
    """
    listener = listener_here()
    with ExitStack() as until_reported:
        with telling_how_to_resume(run, options.requires):
            until_reported.enter_context(alone_on_this_machine())  # who is waiting can be interrupted, too
            ended = follow(run, options, listener)
        if run.has_several_sides:
            return report_sides(run, options, fail_on, as_json=as_json)
        stored_run.require_measured(run.measured[0])
        return write_report([run], run.folder, options, as_json=as_json, ended=ended)


@contextmanager
def telling_how_to_resume(run: OpenRun, requires: Sequence[str]) -> Iterator[None]:
    """Where an interrupt ends what is done within, print the command that resumes the run, and exit."""
    try:
        yield
    except KeyboardInterrupt:
        report = ["pyopbench", "report", str(run.folder), *(["--require", ",".join(requires)] if requires else [])]
        errors.print(f"interrupted; finished measurements are in {escape(str(run.folder))}", soft_wrap=True)
        errors.print(f"  resume: {escape(stored_run.resume_command(run, requires))}", soft_wrap=True)
        errors.print(f"  report: {escape(shlex.join(report))}", soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None


def open_resumable(
    folder: Path, ops: Sequence[str], inputs: Sequence[str], seed_with: str, program: str, *, yes: bool
) -> OpenRun:
    """Return a run that can go on: its ops are named again, and what it runs or installs is agreed to."""
    _require_own(folder, ops)
    names, own = read_ops(ops, inputs, seed_with)
    run = open_run(folder)
    own = with_program(names[0] if names else "", own, program)
    run.own = own
    _ask(run, yes=yes)
    with sides.checkouts_of(run) as checkouts:
        for side in run.measured:
            stored_run.require_resumable(side, checkouts[side.side.label].moved_ops(own) if run.has_revisions else own)
    announce((side.side.asked for side in run.measured), listener_here())
    return run


def _ask(run: OpenRun, *, yes: bool) -> None:
    """Ask before anything is checked out, installed or started because a file of the run names it."""
    planned = [measured.side for measured in run.measured]
    revisions = [side.revision for side in planned if side.revision and not side.revision.is_worktree]
    programs = [side.python for side in planned if side.python is not None]
    # Whether something is missing for a Python is only known once that has been run.
    missing = environments.missing(side.asked for side in planned if side.python is None)
    reasons = []
    if revisions:
        commits = formatting.listing(list(dict.fromkeys(short_hash(revision.commit) for revision in revisions)))
        reasons.append(f"checks out {commits} of {sides.repository_of(run)} and runs that code")
    if programs:
        named = formatting.listing(list(dict.fromkeys(programs)))
        reasons.append(f"starts {named}, and installs what it lacks")
    if missing:
        reasons.append(f"installs {environments.installing_text(missing)}")
    what = f"the run {formatting.listing(reasons)}"
    if reasons and not yes and not (sys.stdin.isatty() and typer.confirm(f"{what}. Go on?", err=True)):
        raise BadInput(
            "this run continues only if you agree",
            received=what,
            hint="pyopbench resume --yes DIR OP_FILE, if you trust the author of the folder",
        )


def _require_own(folder: Path, own: Sequence[str]) -> None:
    others = [name for name in own if not is_target(name)]
    if others:
        raise BadInput(
            "a run is resumed as it was planned, so you cannot choose other ops",
            received=" ".join(others),
            legal="your own ops of that run: my_op.py, my_module.py:function or package.module:function",
            hint=f"pyopbench resume {folder}, or a new run for other ops",
        )


def check_cases(axes: Axes, own: OwnOps, required: Sequence[str], tf: str | None, *, as_json: bool) -> int:
    """Check values, gradients and what is required, print what came of it, and return the exit code."""
    announce([Environment(tf)], listener_here())
    with err.status("verifying") as status:
        findings, tried = verify(
            axes, required, lambda done, total: status.update(f"verifying {done} of {total}"), tf, own
        )
    wrong = [finding for finding in findings if finding.failure is not None and finding.failure.status != "unsupported"]
    if as_json:
        out.print_json(json.dumps([*map(asdict, findings), *map(msgspec.to_builtins, tried)]))
    else:
        _print_findings(findings, wrong)
        if required:
            rows = [(line.op, line.label, line.requirement, line.status) for line in tried]
            print_table("What is required", ("op", "variant", "requirement", "result"), rows)
            for line in tried:
                if line.reason:
                    say(escape(f"{line.op}/{line.label} {line.requirement}: {line.reason}"), mark="- ")
    return EXIT_WRONG if wrong or any(line.status == "silently wrong" for line in tried) else 0


def _print_findings(findings: list[Finding], wrong: list[Finding]) -> None:
    right = sum(finding.failure is None for finding in findings)
    unsupported = [finding for finding in findings if finding.failure is not None and finding not in wrong]
    if unsupported:
        reasons = Counter(
            (Case.from_id(finding.case).variant, finding.failure.reason) for finding in unsupported if finding.failure
        )
        rows = [(variant, n, reason) for (variant, reason), n in reasons.most_common()]
        print_table("Not supported", ("variant", "cases", "why"), rows)
    rough = Counter(
        Case.from_id(finding.case).variant
        for finding in findings
        if finding.checked
        and finding.checked["finite_difference"] is None
        and Case.from_id(finding.case).direction != "forward"
    )
    if rough:
        print_table("Gradients not checked by finite differences", ("variant", "cases"), rough.most_common())
    print_failures([finding.failure for finding in wrong if finding.failure])
    out.print(f"{right:,} right, {len(wrong):,} failed, {len(unsupported):,} not supported")

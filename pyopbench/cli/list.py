"""`pyopbench list` and `pyopbench verify`: what there is, and whether it is right; nothing is timed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from pyopbench.cli.batched import check_batched, refuse_unbatched
from pyopbench.cli.installing import announce
from pyopbench.cli.options import (
    WHAT,
    AsJson,
    AxisTexts,
    CaseTimeout,
    Directions,
    Gradients,
    Inputs,
    Modes,
    Ops,
    SeedWith,
    TensorFlow,
    Variants,
)
from pyopbench.cli.output import err, out, print_failures, print_table
from pyopbench.cli.read_options import read_axes
from pyopbench.engine import plan as planning
from pyopbench.engine.verify import EVERYTHING, Finding, verify_cases
from pyopbench.model import formatting
from pyopbench.model.case import MODE_SUMMARIES, Axes, Case
from pyopbench.model.parse import parse_duration

EXIT_WRONG = 1


def list_(
    ops: Ops = None,
    inputs: Inputs = None,
    seed_with: SeedWith = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Show what run --quick would measure.", rich_help_panel=WHAT)
    ] = False,
    variant: Variants = None,
    gradient: Gradients = None,
    direction: Directions = None,
    mode: Modes = None,
    axis: AxisTexts = None,
    cases: Annotated[
        bool, typer.Option("--cases", help="List every case, and every unsupported one with its reason.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List ops, variants and cases, and why a case is not supported."""
    axes = read_axes(Axes(quick=quick), ops, variant, gradient, direction, mode, None, axis, inputs, seed_with)
    with err.status("asking TensorFlow"):
        plan = planning.ask_for_plan(axes, compiles=False)
    if as_json:
        out.print_json(json.dumps(plan))
        return
    catalogue = plan["catalogue"]
    if cases:
        for case in plan["cases"]:
            out.print(case, soft_wrap=True)
        for skip in plan["skips"]:
            out.print(f"{skip['case']}  not supported: {escape(skip['reason'])}", soft_wrap=True)
        return
    print_table("Ops", ("op", "what it is", "sizes"), [_op_row(*item) for item in catalogue["ops"].items()])
    print_table(
        "Variants",
        ("variant", "kind", "what it is"),
        [(name, one["kind"], one["summary"]) for name, one in _variants_and_parts(catalogue).items()],
    )
    print_table("Modes", ("mode", "what is timed"), list(MODE_SUMMARIES.items()))
    title = f"{len(plan['cases']):,} cases; {len(plan['skips']):,} not supported"
    print_table(title, ("cases", "why not"), _counted(plan["skips"]))


def _variants_and_parts(catalogue: dict[str, Any]) -> dict[str, Any]:
    return {**catalogue["variants"], **catalogue.get("parts", {})}


def _counted(skips: Sequence[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(count, reason) for reason, count in planning.count_reasons(skips)]


def _op_row(name: str, op: dict[str, Any]) -> tuple[str, str, str]:
    sizes = op["sizes"]
    return name, op["summary"], formatting.sized(sizes[0], str(op["size_unit"]), sizes[-1])


def verify(
    ops: Ops = None,
    inputs: Inputs = None,
    seed_with: SeedWith = "",
    variant: Variants = None,
    gradient: Gradients = None,
    mode: Modes = None,
    axis: AxisTexts = None,
    batch: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Check forms that take N examples at once against a loop over examples."),
    ] = None,
    case_timeout: CaseTimeout = "120s",
    tf: TensorFlow = None,
    as_json: AsJson = False,
) -> None:
    """Check values against NumPy, and gradients against a reference and finite differences."""
    axes = read_axes(EVERYTHING, ops, variant, gradient, None, mode, None, axis, inputs, seed_with)
    timeout_seconds = parse_duration(case_timeout)
    announce([tf] if tf else [])
    if batch is not None:
        refuse_unbatched(gradient, mode)
        raise typer.Exit(check_batched(axes, batch, timeout_seconds, tf, as_json=as_json))
    with err.status("verifying") as status:
        findings = verify_cases(
            axes, timeout_seconds, lambda done, total: status.update(f"verifying {done} of {total}"), tf
        )
    wrong = [finding for finding in findings if finding.failure is not None and finding.failure.status != "unsupported"]
    if as_json:
        out.print_json(json.dumps([finding.as_dict() for finding in findings]))
    else:
        _print_findings(findings, wrong)
    raise typer.Exit(EXIT_WRONG if wrong else 0)


def _print_findings(findings: list[Finding], wrong: list[Finding]) -> None:
    right = sum(finding.failure is None for finding in findings)
    unsupported = [finding for finding in findings if finding.failure is not None and finding not in wrong]
    if unsupported:
        told = Counter(
            (Case.from_id(finding.case).variant, finding.failure.reason) for finding in unsupported if finding.failure
        )
        rows = [(variant, n, reason) for (variant, reason), n in told.most_common()]
        print_table("Not supported", ("variant", "cases", "why"), rows)
    rough = Counter(
        (Case.from_id(finding.case).variant, uncertainty)
        for finding in findings
        if (uncertainty := (finding.checked or {}).get("difference_uncertainty")) is not None
    )
    if rough:
        rows = [(variant, n, f"{uncertainty:.0%}") for (variant, uncertainty), n in rough.most_common()]
        print_table("Gradients that finite differences could not check", ("variant", "cases", "uncertain by"), rows)
    print_failures([finding.failure for finding in wrong if finding.failure])
    out.print(f"{right:,} right, {len(wrong):,} failed, {len(unsupported):,} not supported")

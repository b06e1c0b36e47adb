"""`pyopbench verify`: are values and gradients right? Nothing is timed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import msgspec
from rich.markup import escape

from pyopbench.cli.options import read_names
from pyopbench.cli.output import err, out, print_failures, print_table, say
from pyopbench.engine.verify import Finding, verify
from pyopbench.judge import requirements
from pyopbench.model.case import GPU, Axes, Case
from pyopbench.model.errors import EXIT_WRONG, BadInput
from pyopbench.model.own_target import OwnOps


def read_requirements(requires: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of requirements that `verify` can try.

    Raises:
        BadInput: it cannot try one.
    """
    required = requirements.check(read_names("--require", requires))
    if GPU in required:
        raise BadInput(
            "verify cannot try this requirement",
            received=f"--require {GPU}",
            hint="a run on a GPU shows what works there: pyopbench run OP --axis device=gpu",
        )
    return required


def check_cases(axes: Axes, own: OwnOps, required: Sequence[str], tf: str | None, *, as_json: bool) -> int:
    """Check values, gradients and what is required, print what came of it, and return the exit code."""
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

"""Checks values and gradients of every case, without timing anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyopbench.launch import CaseLost, Worker
from pyopbench.model import DTYPES, MODES, Axes, Case, Failure
from pyopbench.runs import ask_for_plan

VERIFIED_SIZES = 2
"""How many of an op's quick sizes are verified, the smallest first: one alone, and one that vector code works on."""


@dataclass(frozen=True)
class Finding:
    """What came out for one case: the errors against the references, or a failure."""

    case: str
    checked: dict[str, float | None] | None
    failure: Failure | None

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self)


def verify_cases(axes: Axes, timeout_seconds: float, tell: Callable[[int, int], None]) -> list[Finding]:
    """Verify every case of `axes`; axes left at their default cover all modes, dtypes and gradient mechanisms.

    Args:
        axes: what to cover.
        timeout_seconds: how long a case may be silent.
        tell: is told how many cases are done, of how many.

    Returns:
        A finding for each case, in the order of the plan.
    """
    plan = ask_for_plan(_widened(axes))
    cases = _chosen([Case.from_id(key) for key in plan["cases"]], plan["catalogue"], axes)
    findings: list[Finding] = []
    while len(findings) < len(cases):
        with Worker(timeout_seconds) as worker:
            findings += _verify_until_lost(worker, cases, len(findings), tell)
    return findings


def _widened(axes: Axes) -> Axes:
    default = Axes()
    return replace(
        axes,
        directions=("forward", "backward"),
        gradients=axes.gradients or ("all",),
        modes=MODES if axes.modes == default.modes else axes.modes,
        dtypes=DTYPES if axes.dtypes == default.dtypes else axes.dtypes,
        quick=True,
    )


def _chosen(cases: Sequence[Case], catalogue: dict[str, Any], axes: Axes) -> list[Case]:
    """Leave out the larger sizes, and forward cases whose values a backward case checks anyway."""
    differentiable = {name for name, op in catalogue["ops"].items() if op["differentiable"]}
    chosen = []
    for case in cases:
        sizes = axes.sizes or catalogue["ops"][case.op]["quick_sizes"][:VERIFIED_SIZES]
        if case.size in sizes and (case.direction == "backward" or case.op not in differentiable):
            chosen.append(case)
    return chosen


def _verify_until_lost(
    worker: Worker, cases: Sequence[Case], begin: int, tell: Callable[[int, int], None]
) -> list[Finding]:
    findings: list[Finding] = []
    for place in range(begin, len(cases)):
        tell(place, len(cases))
        key = cases[place].id
        # They are taken at one small size whatever the case's size: once for each variant, mechanism, mode and dtype.
        smallest = min(case.size for case in cases if case.op == cases[place].op)
        try:
            answer = worker.ask({"do": "verify", "case": key, "finite_differences": cases[place].size == smallest})
        except CaseLost as lost:
            return [*findings, Finding(key, None, Failure(key, lost.status, lost.reason))]
        failure = Failure(**answer["failure"]) if "failure" in answer else None
        findings.append(Finding(key, answer.get("checked"), failure))
    return findings

"""Checks values and gradients of every case; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyopbench.engine import require
from pyopbench.engine.plan import ask_for_plan, check_axes, python_for, require_cases
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker, ask_each
from pyopbench.model.case import DTYPES, GPU, PLACEMENTS, Axes, Case, Failure
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import Environment
from pyopbench.store.types import RequirementLine

VERIFIED_SIZES = 2
"""How many of an op's quick sizes are verified, the smallest first: one alone, and one that vector code works on."""

EVERYTHING = Axes(
    directions=("forward", "backward"),
    modes=("eager", "call"),
    dtypes=DTYPES,
    gradients=("all",),
    quick=True,
    parts=False,
)
"""What is verified unless a part of it is asked for: forward+backward is backward once more, and a copy of mode node
is built as in mode call."""

Tell = Callable[[int, int], None]
"""Is called with how many cases are done, of how many."""


@dataclass(frozen=True)
class Finding:
    """What came out for one case: the largest relative errors against the references, or a failure."""

    case: str
    checked: dict[str, float | None] | None
    failure: Failure | None


def verify_cases(
    axes: Axes, timeout_seconds: float, tell: Tell, tf: str | None = None, own: OwnOps = NO_OWN_OPS
) -> list[Finding]:
    """Verify every case of `axes` and return a finding for each, in the order of the plan.

    Args:
        axes: what to cover; `EVERYTHING`, or a part of it.
        timeout_seconds: how long a case may be silent.
        tell: is called with the progress.
        tf: version of TensorFlow to verify on; None is the installed one.
        own: the own ops among the ops.

    Raises:
        BadInput: a bad name or size, or axes that leave no case.
    """
    check_axes(axes, own)
    python = python_for(tf)
    hides_gpu = GPU not in axes.placements
    with Worker(START_TIMEOUT_SECONDS, python, own=own, hides_gpu=hides_gpu) as planner:
        plan = ask_for_plan(axes, own, environment=Environment(tf), worker=planner)
        require_cases(plan, axes)
        cases = _chosen([Case.from_id(key) for key in plan["cases"]], plan["catalogue"], axes)
        planner.timeout_seconds = timeout_seconds
        findings: list[Finding] = []
        for placement in dict.fromkeys(case.placement for case in cases):  # of which a worker serves one alone
            start = partial(Worker, timeout_seconds, python, own=own, hides_gpu=placement != GPU)
            first = planner if hides_gpu == (placement != GPU) else None  # it has imported TensorFlow already
            here = [case for case in cases if case.placement == placement]
            tell(len(findings), len(cases))
            for case, answer in ask_each(here, _request_of, start, first):
                findings.append(_finding(case.id, answer))
                tell(len(findings), len(cases))
    return findings


def _request_of(case: Case) -> dict[str, Any]:
    return {"do": "verify", "case": case.id, "finite_differences": True}


def _finding(case: str, answer: dict[str, Any] | CaseLost) -> Finding:
    if isinstance(answer, CaseLost):
        return Finding(case, None, Failure(case, answer.status, answer.reason))
    failure = Failure(**answer["failure"]) if "failure" in answer else None
    return Finding(case, answer.get("checked"), failure)


def verify_requirements(
    axes: Axes,
    requires: Sequence[str],
    tell: Tell,
    tf: str | None = None,
    own: OwnOps = NO_OWN_OPS,
) -> list[RequirementLine]:
    """Try requirements with each op, variant and gradient of `axes`, and return what came of each."""
    plan = ask_for_plan(axes, own, environment=Environment(tf))
    cases = [Case.from_id(key) for key in plan["cases"]]
    gradients = {name: variant["gradients"] for name, variant in plan["catalogue"]["variants"].items()}
    lines: list[RequirementLine] = []
    attempts = require.attempts_of(cases, gradients, requires)
    start = partial(Worker, require.TIMEOUT_SECONDS, python_for(tf), own=own, hides_gpu=True)
    require.try_all(attempts, start, lines.append, tell)
    return lines


def _chosen(cases: Sequence[Case], catalogue: dict[str, Any], axes: Axes) -> list[Case]:
    """Return cases, those of the CPU first, without larger sizes and forward cases whose values backward checks too."""
    checked = {case.forward_pass for case in cases if case.direction == "backward"}
    return [
        case
        for case in sorted(cases, key=lambda case: PLACEMENTS.index(case.placement))
        if case.size in (axes.sizes or catalogue["ops"][case.op]["quick_sizes"][:VERIFIED_SIZES])
        and (case.direction == "backward" or case not in checked)
    ]

"""Checks values and gradients of every case, and batched forms against a loop over examples; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from pyopbench.engine import require
from pyopbench.engine.plan import ask_for_plan, check_axes, python_for, require_cases, require_loaded
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, CaseLost, Worker, ask_each
from pyopbench.model.case import DTYPES, GPU, PLACEMENTS, Axes, Case, Failure
from pyopbench.model.errors import BadInput
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import Environment
from pyopbench.store.line_types import RequirementLine

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
"""Is called with how many cases or forms are done, of how many."""


@dataclass(frozen=True)
class Finding:
    """What came out for one case: the errors against the references, or a failure."""

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
    gradients = {name: one["gradients"] for name, one in plan["catalogue"]["variants"].items()}
    found: list[RequirementLine] = []
    attempts = require.attempts_of(cases, gradients, requires)
    start = partial(Worker, require.TIMEOUT_SECONDS, python_for(tf), own=own, hides_gpu=True)
    require.try_all(attempts, start, found.append, tell)
    return found


def _chosen(cases: Sequence[Case], catalogue: dict[str, Any], axes: Axes) -> list[Case]:
    """Return cases, those of the CPU first, without larger sizes and forward cases whose values backward checks too."""
    checked = {case.forward_pass for case in cases if case.direction == "backward"}
    return [
        case
        for case in sorted(cases, key=lambda case: PLACEMENTS.index(case.placement))
        if case.size in (axes.sizes or catalogue["ops"][case.op]["quick_sizes"][:VERIFIED_SIZES])
        and (case.direction == "backward" or case not in checked)
    ]


Outcome: TypeAlias = Literal["right", "wrong", "cannot", "timeout", "crashed", "raised"]

LOOP = "numpy_loop"
"""The plain loop inside one callback: the form that any op should have."""


@dataclass(frozen=True)
class BatchedFinding:
    """What came of one batched form.

    Attributes:
        op, dtype, size: of which, and of an example.
        form: name of the form.
        batch: how many examples.
        outcome: `right`; `wrong`, where it does not agree with a loop; `cannot`, where it does not exist; or how the
            worker was lost.
        reason: why it is not right; "" where it is.
        checked: the largest errors by what was checked, relative to the largest magnitude expected; None if not right.
    """

    op: str
    dtype: str
    size: int
    form: str
    batch: int
    outcome: Outcome
    reason: str = ""
    checked: dict[str, float | None] | None = None

    @property
    def is_broken(self) -> bool:
        """Is it one that nobody can put down to the op: a lost worker, or the plain loop itself?"""
        return self.outcome not in ("right", "wrong", "cannot") or (self.form == LOOP and self.outcome == "wrong")


def verify_batched(  # noqa: PLR0913 - as `verify_cases`, and the batch
    axes: Axes, batch: int, timeout_seconds: float, tell: Tell, tf: str | None = None, own: OwnOps = NO_OWN_OPS
) -> list[BatchedFinding]:
    """Check every batched form of some ops and return a finding for each.

    Args:
        axes: which ops, sizes and dtypes, and what the forms are made of; of the other axes nothing counts.
        batch: examples in a batch, from 1.
        timeout_seconds: how long a form may be silent.
        tell: is called with the progress.
        tf: version of TensorFlow to check on; None is the installed one.
        own: the own ops among the ops.

    Raises:
        BadInput: a bad name or size, or axes that leave no form.
    """
    check_axes(axes, own)
    python = python_for(tf)
    asked = {name: list(getattr(axes, name)) for name in ("ops", "variants", "dtypes", "sizes")}
    findings: list[BatchedFinding] = []
    with Worker(START_TIMEOUT_SECONDS, python, own=own) as first:
        answer = first.ask({"do": "batched_forms", **asked})
        require_loaded(answer)
        forms: list[dict[str, Any]] = answer["forms"]
        _require_forms(forms, asked)
        start = partial(Worker, timeout_seconds, python, own=own)
        first.timeout_seconds = timeout_seconds
        tell(0, len(forms))
        for form, outcome in ask_each(forms, lambda form: {"do": "batched", "batch": batch, **form}, start, first):
            if isinstance(outcome, CaseLost):
                findings.append(BatchedFinding(**form, batch=batch, outcome=outcome.status, reason=outcome.reason))
            else:
                findings.append(BatchedFinding(**form, batch=batch, **outcome))
            tell(len(findings), len(forms))
    return findings


def _require_forms(forms: Sequence[Mapping[str, Any]], asked: Mapping[str, Sequence[object]]) -> None:
    if not forms:
        raise BadInput(
            "no op has a batched form with these options",
            received=", ".join(f"{name}={','.join(map(str, values))}" for name, values in asked.items() if values),
            legal="a size and a dtype that the op has",
            hint="`pyopbench run OP --list` shows them",
        )

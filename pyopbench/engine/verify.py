"""Checks values and gradients of every case, and tries requirements; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pyopbench.engine import environments
from pyopbench.engine.plan import left_out, plan_in, require_cases
from pyopbench.engine.worker_process import START_TIMEOUT_SECONDS, Worker, ask_each
from pyopbench.judge.requirements import OF_THE_GRADIENT
from pyopbench.model.case import DTYPES, GPU, NO_GRADIENT, PLACEMENTS, Axes, Case, Failure, make_label
from pyopbench.model.own_target import NO_OWN_OPS, OwnOps
from pyopbench.model.side import Environment
from pyopbench.store.run import OpenSide
from pyopbench.store.types import RequirementLine

VERIFIED_SIZES = 2
"""How many of an op's quick sizes are verified, the smallest first: one alone, and one that vector code works on."""
CASE_SECONDS, REQUIREMENT_SECONDS = 120.0, 300.0
"""Longest silence at a case, and at a requirement: they take seconds, but the first with a kernel compiles it."""

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


@dataclass(frozen=True)
class Finding:
    """The result for one case: the largest relative errors against the references, or a failure."""

    case: str
    checked: dict[str, float | None] | None
    failure: Failure | None


def verify(
    axes: Axes,
    requires: Sequence[str] = (),
    show: Callable[[int, int], None] = lambda done, total: None,
    tf: str | None = None,
    own: OwnOps = NO_OWN_OPS,
) -> tuple[list[Finding], list[RequirementLine]]:
    """Verify every case of `axes`, a part of `EVERYTHING`, and try requirements with each op, variant and gradient.

    `show` is called with how many cases are done, and how many there are; `tf` is the version of TensorFlow, None the
    installed one; `own` are the own ops among the ops.

    Returns a finding for each variant that is named and has no case, and for each case in the order of the plan, those
    of the CPU first; and what came of each requirement.
    """
    python = environments.python_of(Environment(tf))
    hides_gpu = GPU not in axes.placements
    with Worker(START_TIMEOUT_SECONDS, python, own=own, hides_gpu=hides_gpu) as planner:
        plan = plan_in(planner, axes, Environment(tf))
        require_cases(plan, axes)
        planned = [Case.from_id(key) for key in plan["cases"]]
        cases = _chosen(planned, plan["catalogue"], axes)
        gradients = {name: variant["gradients"] for name, variant in plan["catalogue"]["variants"].items()}
        attempts = attempts_of(planned, gradients, requires)
        planner.timeout_seconds = CASE_SECONDS
        findings = [Finding(lost.case, None, lost) for lost in left_out(plan, axes)]
        total = len(findings) + len(cases) + len(attempts)
        show(0, total)
        for placement in dict.fromkeys(case.placement for case in cases):  # of which a worker serves one alone
            start = partial(Worker, CASE_SECONDS, python, own=own, hides_gpu=placement != GPU)
            first = planner if hides_gpu == (placement != GPU) else None  # it has imported TensorFlow already
            here = (case for case in cases if case.placement == placement)
            asked = ((case, {"do": "verify", "case": case.id, "finite_differences": True}) for case in here)
            for case, answer in ask_each(asked, start, first):
                failed = answer.get("failure")
                failure = failed and Failure(case.id, failed["status"], failed["reason"])
                findings.append(Finding(case.id, answer.get("checked"), failure))
                show(len(findings), total)
    lines: list[RequirementLine] = []
    for line in try_each(attempts, partial(Worker, REQUIREMENT_SECONDS, python, own=own, hides_gpu=True)):
        lines.append(line)
        show(len(findings) + len(lines), total)
    return findings, lines


def _chosen(cases: Sequence[Case], catalogue: dict[str, Any], axes: Axes) -> list[Case]:
    """Return cases, those of the CPU first, without larger sizes and forward cases whose values backward checks too."""
    checked = {case.forward_pass for case in cases if case.direction == "backward"}
    return [
        case
        for case in sorted(cases, key=lambda case: PLACEMENTS.index(case.placement))
        if case.size in (axes.sizes or catalogue["ops"][case.op]["quick_sizes"][:VERIFIED_SIZES])
        and (case.direction == "backward" or case not in checked)
    ]


# Requirements (`--require`), each tried with an op in a variant; a worker that hangs or dies costs one.


@dataclass(frozen=True)
class Attempt:
    """A requirement to try with an op, in a variant with a gradient."""

    requirement: str
    op: str
    variant: str
    gradient: str
    label: str  # `variant` or `variant+gradient`


def try_missing(side: OpenSide, requires: Sequence[str], start: Callable[[], Worker]) -> None:
    """Try what is required and was not tried yet with what a side measures, and append it to its samples."""
    catalogue = side.side.catalogue
    gradients = {name: variant.gradients for name, variant in catalogue.variants.items()}
    cases = [case for case in map(Case.from_id, side.side.cases) if case.op in catalogue.ops and not case.arrangement]
    known = {(line.requirement, line.op, line.label) for line in side.lines if isinstance(line, RequirementLine)}
    attempts = [
        attempt
        for attempt in attempts_of(cases, gradients, requires)
        if (attempt.requirement, attempt.op, attempt.label) not in known
    ]
    for line in try_each(attempts, start):
        side.append(line)


def attempts_of(
    cases: Iterable[Case], gradients: Mapping[str, Sequence[str]], requires: Sequence[str]
) -> list[Attempt]:
    """Return what there is to try with cases of the variants in `gradients`, whose first one is the usual one."""
    attempts: dict[Attempt, None] = {}
    for case in cases:
        mechanisms = gradients.get(case.variant, ())
        for name in requires if mechanisms else ():
            if name != GPU:  # that is judged by what was measured there
                depends = name in OF_THE_GRADIENT and case.gradient != NO_GRADIENT
                used = case.gradient if depends else mechanisms[0]
                label = make_label(case.variant, used, mechanisms)
                attempts[Attempt(name, case.op, case.variant, used, label)] = None
    return list(attempts)


def try_each(attempts: Sequence[Attempt], start: Callable[[], Worker]) -> Iterator[RequirementLine]:
    """Try each and yield what comes of it."""
    asked = [(attempt, {"do": "require", **asdict(attempt)}) for attempt in attempts]
    for attempt, answer in ask_each(asked, start):
        failed = answer.get("failure")
        yield RequirementLine(
            launch=0,
            requirement=attempt.requirement,
            op=attempt.op,
            label=attempt.label,
            status="fails" if failed else answer["status"],
            reason=failed["reason"] if failed else answer["reason"],
        )

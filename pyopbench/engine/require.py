"""Has workers try what is required of ports (`--require`); one that hangs or dies costs what it was trying."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyopbench.engine.worker_process import CaseLost, Worker, ask_each
from pyopbench.judge.requirements import GPU, OF_THE_GRADIENT
from pyopbench.model.case import NO_GRADIENT, Case
from pyopbench.model.label import Label
from pyopbench.store.run import OpenSide
from pyopbench.store.types import RequirementLine

TIMEOUT_SECONDS = 180.0
"""Longest silence at one requirement. They take seconds, but for the first with a kernel, which compiles it."""

Tell = Callable[[int, int], None]
"""Is called with how many are done, of how many."""


@dataclass(frozen=True)
class Attempt:
    """A requirement to try with an op, in a variant with a gradient; `label` is `variant` or `variant+gradient`."""

    requirement: str
    op: str
    label: str
    gradient: str


def attempts_of(
    cases: Iterable[Case], gradients: Mapping[str, Sequence[str]], requires: Sequence[str]
) -> list[Attempt]:
    """Return what there is to try.

    Args:
        cases: whose ops and variants are tried; those of other variants than `gradients` names are left out.
        gradients: the gradients of each variant, the usual one first.
        requires: names of requirements; `gpu` is judged by what was measured there.
    """
    labels = dict.fromkeys((case.op, case.variant, case.gradient) for case in cases if case.variant in gradients)
    found: dict[Attempt, None] = {}
    for op, variant, gradient in labels:
        for name in requires:
            if name == GPU:
                continue
            usual = gradients[variant][0]
            used = gradient if name in OF_THE_GRADIENT and gradient != NO_GRADIENT else usual
            found[Attempt(name, op, str(Label.of(variant, used, gradients[variant])), used)] = None
    return list(found)


def try_missing(side: OpenSide, requires: Sequence[str], start: Callable[[], Worker]) -> None:
    """Try what is required and was not tried yet with what a side measures, and append it to its samples.

    Args:
        side: of the run.
        requires: names of requirements.
        start: starts a worker.

    Raises:
        WorkerLost: a worker did not start.
    """
    catalogue = side.side.catalogue
    gradients = {name: one.gradients for name, one in catalogue.variants.items()}
    planned = map(Case.from_id, side.side.cases)
    cases = [case for case in planned if case.op in catalogue.ops and not case.arrangement]
    known = {(one.requirement, one.op, one.label) for one in side.lines if isinstance(one, RequirementLine)}
    attempts = [
        one for one in attempts_of(cases, gradients, requires) if (one.requirement, one.op, one.label) not in known
    ]
    try_all(attempts, start, side.append, lambda done, total: None)


def try_all(
    attempts: Sequence[Attempt],
    start: Callable[[], Worker],
    keep: Callable[[RequirementLine], None],
    tell: Tell,
) -> None:
    """Try each and hand over what comes of it.

    Raises:
        WorkerLost: a worker did not start.
    """
    tell(0, len(attempts))
    for done, (attempt, answer) in enumerate(ask_each(attempts, _request_of, start), 1):
        status: Any = "fails" if isinstance(answer, CaseLost) else answer["status"]
        reason = answer.reason if isinstance(answer, CaseLost) else answer["reason"]
        keep(
            RequirementLine(
                launch=0,
                requirement=attempt.requirement,
                op=attempt.op,
                label=attempt.label,
                status=status,
                reason=reason,
            )
        )
        tell(done, len(attempts))


def _request_of(attempt: Attempt) -> dict[str, str]:
    return {
        "do": "require",
        "requirement": attempt.requirement,
        "op": attempt.op,
        "variant": Label.parse(attempt.label).variant,
        "gradient": attempt.gradient,
    }

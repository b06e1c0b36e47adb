"""What fails with a case that has failed: by a lost worker, or because it holds what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyopbench.engine.worker_process import CaseLost
from pyopbench.model.case import FLOOR_OPS, FLOOR_SUFFIX, NO_GRADIENT, Case, Failure

MOST_LOSSES = 2
"""Workers that a variant of an op may cost before it is left alone: one may be by bad luck, or for want of memory."""


def failures_of(lost: CaseLost, cases: Sequence[str], launch: int, *, retried: bool) -> list[Failure]:
    """Return a failure for every case of a group that is timed in one pass with the one that was lost.

    A worker that is lost before it has come to any case, or is ended from outside, is blamed on nobody the first time.

    Args:
        lost: how the worker was lost.
        cases: ids of the group's cases that were being measured.
        launch: the launch in which it happened.
        retried: whether the group has lost a worker before.
    """
    if not retried and (lost.case is None or lost.from_outside):
        return []
    if lost.case is None:
        return [Failure(case, lost.status, lost.reason, launch) for case in cases]
    culprit = Case.from_id(lost.case)
    runners = [(case, Case.from_id(case)) for case in cases]
    return [
        Failure(key, lost.status, lost.reason, launch)
        for key, case in runners
        if (case.variant, case.gradient) == (culprit.variant, culprit.gradient)
    ]


def failures_elsewhere(
    lost: CaseLost, cases: Iterable[str], launch: int, told: Collection[str], losses: Counter[tuple[str, str]]
) -> list[Failure]:
    """Return a failure for every case of other groups that goes with the one that was lost.

    With a variant goes its floor, on every op: it only explains the variant, and each case of it would probably cost a
    worker as well. Once the variant has cost `MOST_LOSSES` workers on this op, all its cases of the op go: each would
    probably cost another worker, and a body that hangs the whole of a timeout.

    Args:
        lost: how the worker was lost.
        cases: ids of all cases that are still measured.
        launch: the launch in which it happened.
        told: ids of cases that have their failure.
        losses: workers that each variant of an op has cost, by op and variant; this one is counted.
    """
    if lost.case is None:
        return []
    culprit = Case.from_id(lost.case)
    blamed = (culprit.op, culprit.variant)
    losses[blamed] += 1
    variant = culprit.variant.removesuffix(FLOOR_SUFFIX)
    left = {key: Case.from_id(key) for key in cases if key not in told}
    reasons = {key: f"{variant} was lost" for key, case in left.items() if _is_floor_of(case, variant)}
    if losses[blamed] >= MOST_LOSSES:
        abandoned = f"{culprit.variant} of the op has cost {MOST_LOSSES} workers"
        for key in (key for key, case in left.items() if (case.op, case.variant) == blamed):
            reasons.setdefault(key, abandoned)
    return [
        Failure(key, lost.status, f"not measured, because {reason}: {lost.reason}", launch)
        for key, reason in reasons.items()
    ]


def _is_floor_of(case: Case, variant: str) -> bool:
    return case.variant == variant + FLOOR_SUFFIX or (case.variant == variant and case.op in FLOOR_OPS)


def refused_with_gradient(failures: Sequence[Mapping[str, Any]], cases: Iterable[str]) -> list[dict[str, Any]]:
    """Return a failure, of the same reason, for every case with a gradient whose forward pass is unsupported.

    The forward pass is part of it: the same body at the same size. To try is dear where XLA is what refuses, because it
    compiles first (2 s for sparse_conv_q, TensorFlow 2.21).

    Args:
        failures: as they are stored.
        cases: ids of all cases that are still measured.
    """
    reasons = {
        _forward_pass(Case.from_id(failure["case"])): failure
        for failure in failures
        if failure["status"] == "unsupported" and Case.from_id(failure["case"]).direction == "forward"
    }
    if not reasons:
        return []
    left = {key: Case.from_id(key) for key in cases}
    return [
        {**reasons[refused], "case": key}
        for key, case in left.items()
        if case.direction != "forward" and (refused := _forward_pass(case)) in reasons
    ]


def _forward_pass(case: Case) -> Case:
    """Return the forward pass that a case has in it."""
    return replace(case, direction="forward", gradient=NO_GRADIENT)

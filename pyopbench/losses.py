"""What a lost worker costs: the failures of the cases that it takes along."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from pyopbench.launch import CaseLost
from pyopbench.model import FLOOR_OPS, FLOOR_SUFFIX, Case, Failure

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

    Args:
        lost: how the worker was lost.
        cases: ids of all cases that are still measured.
        launch: the launch in which it happened.
        told: ids of cases that have their failure.
        losses: workers that each variant of an op has cost, by op and variant; this one is counted.
    """
    cases = list(cases)
    found = floor_of(lost, cases, launch, told)
    if lost.case is None:
        return found
    of = _op_and_variant(lost.case)
    losses[of] += 1
    if losses[of] >= MOST_LOSSES:
        found += abandoned(lost, cases, launch, {*told, *(failure.case for failure in found)})
    return found


def floor_of(lost: CaseLost, cases: Iterable[str], launch: int, told: Collection[str]) -> list[Failure]:
    """Return a failure for all of the floor of the variant that was lost, in whatever group.

    The floor only explains that variant, and each case of it would probably cost a worker as well.

    Args:
        lost: how the worker was lost.
        cases: ids of all cases that are still measured.
        launch: the launch in which it happened.
        told: ids of cases that have their failure.
    """
    if lost.case is None:
        return []
    variant = Case.from_id(lost.case).variant.removesuffix(FLOOR_SUFFIX)
    reason = f"not measured, because {variant} was lost: {lost.reason}"
    keys = (key for key in cases if key not in told)
    return [Failure(key, lost.status, reason, launch) for key in keys if _is_floor_of(Case.from_id(key), variant)]


def abandoned(lost: CaseLost, cases: Iterable[str], launch: int, told: Collection[str]) -> list[Failure]:
    """Return a failure for every other case of the op in the variant that was lost, whatever its size and direction.

    For a variant that has cost `MOST_LOSSES` workers: each further case would probably cost another, and a body that
    hangs the whole of a timeout.

    Args:
        lost: how the worker was lost.
        cases: ids of all cases that are still measured.
        launch: the launch in which it happened.
        told: ids of cases that have their failure.
    """
    if lost.case is None:
        return []
    of = _op_and_variant(lost.case)
    reason = f"not measured, because {of[1]} of {of[0]} has cost {MOST_LOSSES} workers: {lost.reason}"
    return [
        Failure(key, lost.status, reason, launch) for key in cases if key not in told and _op_and_variant(key) == of
    ]


def _op_and_variant(key: str) -> tuple[str, str]:
    case = Case.from_id(key)
    return case.op, case.variant


def _is_floor_of(case: Case, variant: str) -> bool:
    return case.variant == variant + FLOOR_SUFFIX or (case.variant == variant and case.op in FLOOR_OPS)

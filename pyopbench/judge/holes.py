"""What of a run has no number, grouped by reason; as values, which `wording.holes` puts into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.model.case import Case
from pyopbench.model.errors import BadInput

if TYPE_CHECKING:
    from pyopbench.store.run import Run

Status: TypeAlias = Literal["wrong", "crashed", "raised", "elided", "timeout", "unsupported", "not measured"]

STATUSES: tuple[Status, ...] = (
    "wrong", "crashed", "raised", "elided", "timeout", "unsupported", "not measured",
)  # fmt: skip
"""From the gravest on: those of a failure, then of a planned case that no launch got to."""


@dataclass(frozen=True)
class Reason:
    """Why cases have no number.

    Attributes:
        status: of the failure, or which other reason it is.
        said: what the failure says; "" where there is none.
    """

    status: Status
    said: str = ""


@dataclass(frozen=True)
class Hole:
    """How many cases of some ops have no number for the same reason."""

    reason: Reason
    cases: int
    ops: tuple[str, ...]


def cases_by_reason(run: Run, measured: set[str]) -> dict[Reason, list[str]]:
    """Return the ids of the cases that have each reason, each once.

    Args:
        run: what was planned, and what failed.
        measured: ids of the cases that have a number; one that failed in some launch has a reason all the same.
    """
    groups: dict[Reason, list[str]] = {}
    for failure in run.failures:
        groups.setdefault(Reason(failure.status, failure.reason), []).append(failure.case)
    told = {failure.case for failure in run.failures}
    lost = [case for case in run.cases if case not in told and case not in measured]
    if lost:
        groups[Reason("not measured")] = lost
    return {reason: list(dict.fromkeys(cases)) for reason, cases in groups.items()}


def holes_of(groups: Mapping[Reason, Sequence[str]]) -> tuple[Hole, ...]:
    """Return the reasons of all ops together, the gravest status first and then the most cases.

    Args:
        groups: as from `cases_by_reason`.
    """
    holes = [Hole(reason, len(cases), tuple(dict.fromkeys(map(op_of, cases)))) for reason, cases in groups.items()]
    return tuple(sorted(holes, key=lambda hole: (rank(hole.reason.status), -hole.cases, hole.reason.said)))


def op_of(case: str) -> str:
    """Return the op of a case; of what is not the id of one, all of it."""
    try:
        return Case.from_id(case).op
    except BadInput:
        return case


def rank(status: Status) -> int:
    """Return the place of a status from the gravest on."""
    return STATUSES.index(status)

"""What of a run has no number, grouped by reason; as values, which `wording.holes` puts into words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from pyopbench.core.errors import BadInput
from pyopbench.core.model import Case

if TYPE_CHECKING:
    from pyopbench.core.model import Failure
    from pyopbench.results.run import Run

Status: TypeAlias = Literal["wrong", "crashed", "raised", "elided", "timeout", "unsupported", "not measured"]

STATUSES: tuple[Status, ...] = (
    "wrong", "crashed", "raised", "elided", "timeout", "unsupported", "not measured",
)  # fmt: skip
"""From the gravest on: those of a failure, then of a planned case that no launch got to."""
TRACE_NUMBERS = re.compile(r"(?<=[a-z]_)\d+\b")
"""Functions that TensorFlow traces are numbered, and nothing else tells their reasons apart."""


@dataclass(frozen=True)
class Reason:
    """Why cases have no number.

    Attributes:
        status: of the failure, or which other reason it is.
        said: what the failure says, without the numbers of traced functions; where ops are taken together, the texts
            around the name of the op. Nothing where there is no failure.
    """

    status: Status
    said: tuple[str, ...] = ()


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
        groups.setdefault(_reason_of(failure), []).append(failure.case)
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
    counts: Counter[Reason] = Counter()
    ops: dict[Reason, dict[str, None]] = {}
    for reason, cases in groups.items():
        for case in cases:
            op = op_of(case)
            shared = replace(reason, said=tuple(part for said in reason.said for part in around(op, said)))
            counts[shared] += 1
            ops.setdefault(shared, {})[op] = None
    order = sorted(counts, key=lambda shared: (rank(shared.status), -counts[shared], shared.said))
    return tuple(Hole(shared, counts[shared], tuple(ops[shared])) for shared in order)


def around(op: str, said: str) -> tuple[str, ...]:
    """Return the texts around the name of an op in what was said of it from outside.

    Only TensorFlow, the user's code and stored runs of older versions name the op in a reason: what is said here says
    "the op", so that nothing has to be cut out of it.
    """
    return tuple(re.split(rf"(?<![A-Za-z0-9_]){re.escape(op)}(?![A-Za-z0-9_])", said))


def op_of(case: str) -> str:
    """Return the op of a case; of what is not the id of one, all of it."""
    try:
        return Case.from_id(case).op
    except BadInput:
        return case


def rank(status: Status) -> int:
    """Return the place of a status from the gravest on."""
    return STATUSES.index(status)


def _reason_of(failure: Failure) -> Reason:
    return Reason(failure.status, (TRACE_NUMBERS.sub("…", failure.reason),))

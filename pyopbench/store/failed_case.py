"""Cases without a number in stored results: why, and what would get a port past the line that it failed at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from pyopbench.model.case import CHANGES, Case
from pyopbench.model.errors import BadInput
from pyopbench.store.number_types import AtLeastOne
from pyopbench.store.validation import corrupt

STATUSES = ("unsupported", "wrong", "elided", "raised", "timeout", "crashed")


class Change(Struct, frozen=True, kw_only=True):
    """What gets a port past the line of a user's file that it failed at."""

    kind: Annotated[str, Meta(extra_json_schema={"enum": list(CHANGES)})]
    line: AtLeastOne
    now: str
    then: str


class Failure(Struct, frozen=True, kw_only=True):
    """A case without a number, and why."""

    case: str
    status: Annotated[str, Meta(extra_json_schema={"enum": list(STATUSES)})]
    reason: str
    launch: int | None
    change: Change | UnsetType | None = UNSET


def require_case(key: str, place: str) -> Case:
    """Return the case of an id; an error names `place` if it is none."""
    try:
        return Case.from_id(key)
    except BadInput as error:
        raise corrupt(place, f"{key!r} is not the id of a case") from error


def check_failures(failures: Sequence[Failure], place: str) -> None:
    """Check ids, statuses and changes; an error names `place`."""
    for failure in failures:
        require_case(failure.case, place)
        if failure.change and failure.change.kind not in CHANGES:
            raise corrupt(place, f"change is of the kind {failure.change.kind!r}, not one of {', '.join(CHANGES)}")
        if failure.status not in STATUSES:
            raise corrupt(place, f"status is {failure.status!r}, not one of {', '.join(STATUSES)}")

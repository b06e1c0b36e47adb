"""Cases without a number in stored results: ids, statuses and changes that are none are refused by name."""

from __future__ import annotations

import msgspec
import pytest

import stored
from pyopbench.model.case import CHANGES
from pyopbench.model.errors import BadInput
from pyopbench.store.failed_case import STATUSES, Change, Failure, check_failures, require_case

CASE = stored.case("bad")
FAILURE = Failure(case=CASE, status="wrong", reason="off by one", launch=0)


def refusal(failure: Failure) -> str:
    with pytest.raises(BadInput) as caught:
        check_failures([FAILURE, failure], "here")
    return str(caught.value.received)


def test_a_failure_as_it_is_stored_passes() -> None:
    change = Change(kind="method", line=3, now="x.T", then="np.transpose(x)")
    check_failures([FAILURE, msgspec.structs.replace(FAILURE, change=change)], "here")


def test_a_case_a_status_and_a_change_that_are_none_are_named() -> None:
    assert refusal(msgspec.structs.replace(FAILURE, case="bad")) == "here: 'bad' is not the id of a case"
    legal = ", ".join(STATUSES)
    assert refusal(msgspec.structs.replace(FAILURE, status="odd")) == f"here: status is 'odd', not one of {legal}"
    change = Change(kind="odd", line=1, now="", then="")
    told = refusal(msgspec.structs.replace(FAILURE, change=change))
    assert told == f"here: change is of the kind 'odd', not one of {', '.join(CHANGES)}"


def test_an_id_is_its_case() -> None:
    assert require_case(CASE, "here").id == CASE

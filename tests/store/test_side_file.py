"""The JSON of a command is read whole or not at all, and what is wrong in it is told with its place."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct

import copied_files
import placement_files
import stored
from pyopbench.model.errors import BadInput
from pyopbench.report import copy_costs_text as wording
from pyopbench.store import copy_costs, counted_copies
from pyopbench.store.side_file import SideFile


class Things(Struct):
    rows: list[int]


def check(document: dict[str, Any]) -> str:
    return {1: "one"}[document["rows"][0]]


KIND = SideFile("pyopbench things", 3, Things, check)


def test_what_was_written_is_read_with_keys_that_the_type_does_not_have(tmp_path: Path) -> None:
    document = {"schema": 3, "rows": [1], "later": None}
    KIND.write(tmp_path / "things.json", json.dumps(document))
    assert KIND.load(tmp_path / "things.json") == document


@pytest.mark.parametrize(
    ("content", "received"),
    [
        ("", "JSONDecodeError"),
        ("[" * 9000, "RecursionError"),
        ("[1]", "expected object, got array: [1]"),
        ('{"schema": 3}', "missing rows"),
        ('{"schema": 3, "rows": [2]}', "KeyError: 2"),
        ('{"schema": 3, "rows": ["x"]}', "rows[0]: expected int, got str: x"),
        ('{"schema": 3, "rows": [NaN]}', "NaN is no number"),
        ('{"schema": 2, "rows": [1]}', "schema 2"),
        ('{"rows": [1]}', "schema None"),
        ("\udcff", "UnicodeDecodeError"),
    ],
)
def test_anything_else_is_refused_with_what_to_do(tmp_path: Path, content: str, received: str) -> None:
    path = tmp_path / "things.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput) as error:
        KIND.load(path)
    assert received in str(error.value.received)
    assert error.value.message == f"{path} was not written by `pyopbench things`"
    assert error.value.hint == f"create it again: pyopbench things --out {path}"


PLACEMENT = placement_files.document()
COPIED = {
    **copied_files.document(copied_files.row(1, 1e-4), copied_files.row(1_000, 2e-4)),
    **copied_files.gpu_document(copied_files.GPU),
}


READ_COUNTS, READ_COSTS = counted_copies.read, copy_costs.read


@pytest.mark.parametrize(
    ("read", "document", "place", "new", "told"),
    [
        (READ_COUNTS, PLACEMENT, ("rows", 0, "inputs"), "moon", "rows[0].inputs: invalid enum value 'moon'"),
        (READ_COUNTS, PLACEMENT, ("rows", 0, "pinned"), "moon", "rows[0].pinned: invalid enum value 'moon'"),
        (READ_COUNTS, PLACEMENT, ("rows", 0, "pinned"), "host", "is not counted on each of the 4 routes"),
        (READ_COUNTS, PLACEMENT, ("rows",), PLACEMENT["rows"][1:], "is not counted on each of the 4 routes"),
        (READ_COUNTS, PLACEMENT, ("rows",), [*PLACEMENT["rows"], PLACEMENT["rows"][0]], "is not counted on each"),
        (READ_COUNTS, PLACEMENT, ("rows", 0, "case"), "sinh", "the id of a case"),
        (READ_COUNTS, PLACEMENT, ("rows", 0, "fresh", "to_host"), [1], "rows[0].fresh.to_host: expected array of"),
        (READ_COUNTS, PLACEMENT, ("rows", 0, "fresh", "to_host"), [1, -1], "to_host[1]: expected int >= 0, got -1"),
        (READ_COUNTS, PLACEMENT, ("ops", "sinh", "arrays"), None, "ops.sinh.arrays: expected object, got null"),
        (READ_COUNTS, PLACEMENT, ("variants",), {}, "KeyError: 'native'"),
        (READ_COUNTS, PLACEMENT, ("rows", 0), {"case": "a", "pinned": "host", "inputs": "host", "result": "host"},
         "rows[0]: neither refused nor counted"),
        (READ_COSTS, COPIED, ("rows",), [], "rows: expected array of length >= 1, got []"),
        (READ_COSTS, COPIED, ("hazards", 0, "mode"), "odd", "hazards[0].mode: invalid enum value 'odd'"),
        (READ_COSTS, COPIED, ("rows", 1, "seconds"), "1", "rows[1].seconds: expected float, got str: 1"),
        (READ_COSTS, COPIED, ("transfers", "rows", 0, "seconds"), 0, "transfers.rows[0].seconds: expected float > 0"),
        (READ_COSTS, COPIED, ("transfers", "gpu"), [], "transfers.gpu: expected array of length >= 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_told_with_its_place(
    tmp_path: Path, read: Any, document: Any, place: tuple[Any, ...], new: Any, told: str
) -> None:
    path = tmp_path / "file.json"
    stored.seal(path, stored.put(copy.deepcopy(document), place, new))
    with pytest.raises(BadInput) as error:
        read(path)
    assert told in str(error.value.received) or told in str(error.value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(list(stored.places_in(COPIED))), new=stored.json_values)
def test_copies_with_anything_anywhere_are_reported_or_refused(tmp_path: Path, place: Any, new: Any) -> None:
    path = tmp_path / "copies.json"
    stored.seal(path, stored.put(COPIED, place, new))
    received = stored.refusal(lambda: _report(copy_costs.read(path)))
    assert received is None or received, "a refusal says what was received"


def _report(document: dict[str, Any]) -> None:
    assert copy_costs.costs(document)
    wording.hazards(document)
    wording.refusals(document)

"""Counts of two devices: which rows can be compared, which are equal, and how documents are put together."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

import gpu
from places import ROOT


@pytest.fixture
def document() -> dict[str, Any]:
    """The first rows of sinh that were counted on a GPU."""
    content = json.loads((ROOT / "results" / "gpu" / "placement.json").read_bytes())
    rows = [row for row in content["rows"] if row["case"].startswith("sinh/native/none/forward/call/")]
    return {**content, "rows": rows}


def test_rows_that_were_counted_alike_are_equal(document: dict[str, Any]) -> None:
    found = gpu.compare_counts(document, [document])
    assert (found["rows"], found["comparable"], found["equal"], found["different"]) == (12, 12, 12, [])
    assert found["by_variant"] == {"sinh/native": {"rows": 12, "comparable": 12, "equal": 12}}


@pytest.mark.parametrize("place", [0, 1])
def test_one_copy_or_one_byte_more_is_a_different_row(document: dict[str, Any], place: int) -> None:
    other = copy.deepcopy(document)
    other["rows"][0]["fresh"]["to_device"][place] += 1
    found = gpu.compare_counts(document, [other])
    assert (found["comparable"], found["equal"], len(found["different"])) == (12, 11, 1)


def test_what_was_refused_varies_or_is_missing_cannot_be_compared(document: dict[str, Any]) -> None:
    other = copy.deepcopy(document)
    other["rows"][0]["refused"] = "no kernel"
    other["rows"][1]["varies"] = True
    simulated = {**document, "rows": document["rows"][:-1]}
    found = gpu.compare_counts(simulated, [other])
    assert (found["rows"], found["comparable"], found["equal"]) == (12, 9, 9)
    assert sorted(found["left_out"].values()) == [1, 1, 1]


def test_documents_are_put_together_and_a_row_of_two_is_taken_once(document: dict[str, Any]) -> None:
    first, second = ({**document, "rows": rows} for rows in (document["rows"][:5], document["rows"][3:]))
    assert gpu.merged([first, second])["rows"] == document["rows"]

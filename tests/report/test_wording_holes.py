"""Why cases have no number, as whole lines."""

from __future__ import annotations

import pytest

from pyopbench.judge.holes import Hole, Reason
from pyopbench.report.wording.holes import hole_text, reason_text, without_number_text


@pytest.mark.parametrize(
    ("hole", "said"),
    [
        (
            Hole(Reason("unsupported", "the op has no python body"), 2, ("sinh", "log")),
            "2 cases unsupported, of sinh and log: the op has no python body",
        ),
        (
            Hole(Reason("unsupported", "the op has no python body"), 1, ("sinh",)),
            "1 case unsupported, of sinh: the op has no python body",
        ),
    ],
)
def test_holes(hole: Hole, said: str) -> None:
    assert hole_text(hole) == said


def test_what_no_launch_got_to_says_so() -> None:
    assert reason_text(Reason("not measured")) == "the run ended before it was measured"


def test_cases_without_a_number_are_counted_once_where_all_are_alike() -> None:
    assert without_number_text({"unsupported": 75}) == "No number: 75 unsupported cases; the report says why"
    assert without_number_text({"wrong": 1}) == "No number: 1 wrong case; the report says why"
    assert (
        without_number_text({"wrong": 1, "timeout": 6})
        == "No number: 7 cases (1 wrong, 6 timeout); the report says why"
    )

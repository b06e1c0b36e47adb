"""Why cases have no number, as whole lines."""

from __future__ import annotations

import pytest

from pyopbench.judge.holes import Hole, Reason
from pyopbench.report.wording.holes import hole_text, reason_text


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

"""Identical code in one run, as a whole line."""

from __future__ import annotations

import pytest

from pyopbench.judge.decision import Outcome, Verdict
from pyopbench.judge.twins import NO_TWINS, Twins
from pyopbench.report.wording.twins import twins_text


def pair(ratio: float, outcome: Outcome) -> Verdict:
    return Verdict("twin", "itself", ratio, ratio, ratio, 6, 0.5, outcome)


@pytest.mark.parametrize(
    ("twins", "said"),
    [
        (NO_TWINS, ""),
        (
            Twins((pair(1.01, "equivalent"), pair(0.88, "faster"), pair(1.06, "unresolved")), 0.03),
            (
                "Identical code in this run (3 callbacks measured twice, under two names): 1 found different, "
                "1 equal within 3%, 1 unresolved; largest difference 12%."
            ),
        ),
    ],
)
def test_twins(twins: Twins, said: str) -> None:
    assert twins_text(twins) == said

"""How far a run has come, in whole sentences."""

from __future__ import annotations

import pytest

from pyopbench.judge.stopping import Look
from pyopbench.model.case import UNLIMITED
from pyopbench.report.wording.stopping import progress_text


@pytest.mark.parametrize(
    ("verdicts", "resolved", "reachable", "unneeded", "words"),
    [
        (0, 0, 0, 0, "after 4 launches: no verdict, because only the baseline was measured"),
        (4, 4, 0, 0, "after 4 launches: all 4 verdicts resolved"),
        (4, 0, 0, 0, "after 4 launches: 0 of 4 verdicts resolved, 4 would need more than 8 launches"),
        (4, 2, 1, 0, "after 4 launches: 2 of 4 verdicts resolved, 1 open, 1 would need more than 8 launches"),
        (1, 0, 1, 0, "after 4 launches: 0 of 1 verdict resolved, 1 open"),
        (
            6,
            3,
            0,
            2,
            (
                "after 4 launches: 3 of 6 verdicts resolved, 2 not needed for an answer, 1 would need more than 8 "
                "launches"
            ),
        ),
    ],
)
def test_progress(verdicts: int, resolved: int, reachable: int, unneeded: int, words: str) -> None:
    look = Look(frozenset(), 4, verdicts=verdicts, resolved=resolved, reachable=reachable, unneeded=unneeded, most=8)
    assert progress_text(look) == words


def test_launches_that_only_a_budget_limits_have_no_number() -> None:
    look = Look(frozenset(), 4, verdicts=4, resolved=0, reachable=1, unneeded=0, most=UNLIMITED)
    assert progress_text(look) == "after 4 launches: 0 of 4 verdicts resolved, 1 open, 3 would need too many launches"

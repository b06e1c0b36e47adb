"""Every reason for an open verdict, and everything that would settle one, as a whole clause."""

from __future__ import annotations

import pytest

from pyopbench.report.wording.verdicts import remedy_text, unresolved_text
from pyopbench.stats.unresolved import (
    AcrossBorder,
    FewOtherCases,
    InterleavedRun,
    MoreLaunches,
    MoreLaunchesOfBothRuns,
    NeverPaired,
    NotAboveZero,
    OneLaunch,
    Remedy,
    Unresolved,
)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (NeverPaired(), "never measured in the same launch and round as the baseline"),
        (OneLaunch(), "one launch gives no interval"),
        (
            NotAboveZero(2, 8),
            "too small for a ratio: in 2 of 8 launches its cost is not above zero",
        ),
        (FewOtherCases(0), "one launch, and no other case to show how much launches differ"),
        (FewOtherCases(1), "one launch, and only 1 other case to show how much launches differ"),
        (FewOtherCases(9), "one launch, and only 9 other cases to show how much launches differ"),
        (
            AcrossBorder(0.95, 1.2, border=1.03, verdicts=2, looks=1, remedy=MoreLaunches(4, 9, 1000)),
            (
                "the interval (corrected for 2 verdicts) is 0.950× to 1.20× and includes 1.03×; about 9 "
                "launches instead of 4 would decide it"
            ),
        ),
        (
            AcrossBorder(0.95, 1.2, border=1.03, verdicts=1, looks=5, remedy=MoreLaunchesOfBothRuns()),
            (
                "the interval (corrected for 1 verdict at 5 looks) is 0.950× to 1.20× and includes 1.03×; more "
                "launches in both runs would narrow it"
            ),
        ),
    ],
)
def test_why_a_verdict_is_open(reason: Unresolved, said: str) -> None:
    assert unresolved_text(reason) == said


@pytest.mark.parametrize(
    ("remedy", "said"),
    [
        (MoreLaunches(4, 9, 1000), "about 9 launches instead of 4 would decide it"),
        (MoreLaunches(4, None, 1000), "this would take more than 1,000 launches instead of 4"),
        (MoreLaunchesOfBothRuns(), "more launches in both runs would narrow it"),
        (
            InterleavedRun(0.03),
            "separate runs are assumed to differ by 3%; an interleaved run avoids that",
        ),
    ],
)
def test_what_would_settle_it(remedy: Remedy, said: str) -> None:
    assert remedy_text(remedy) == said

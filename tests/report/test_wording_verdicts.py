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
        (NeverPaired(), "never measured in one launch and round together with the baseline"),
        (OneLaunch(), "one launch gives no interval"),
        (
            NotAboveZero(2, 8),
            "too small to compare by a ratio: in 2 of 8 launches its cost is not above zero",
        ),
        (FewOtherCases(0), "one launch, and no other case to tell how much launches differ"),
        (FewOtherCases(1), "one launch, and only 1 other case to tell how much launches differ"),
        (FewOtherCases(9), "one launch, and only 9 other cases to tell how much launches differ"),
        (
            AcrossBorder(0.95, 1.2, border=1.03, verdicts=2, looks=1, remedy=MoreLaunches(4, 9, 1000)),
            (
                "the interval corrected for 2 verdicts reaches from 0.950× to 1.20×, across the border of 1.03×; about "
                "9 launches instead of 4 would settle it"
            ),
        ),
        (
            AcrossBorder(0.95, 1.2, border=1.03, verdicts=1, looks=5, remedy=MoreLaunchesOfBothRuns()),
            (
                "the interval corrected for 1 verdict at 5 looks reaches from 0.950× to 1.20×, across the border of "
                "1.03×; more launches in both runs would narrow it"
            ),
        ),
    ],
)
def test_why_a_verdict_is_open(reason: Unresolved, said: str) -> None:
    assert unresolved_text(reason) == said


@pytest.mark.parametrize(
    ("remedy", "said"),
    [
        (MoreLaunches(4, 9, 1000), "about 9 launches instead of 4 would settle it"),
        (MoreLaunches(4, None, 1000), "more than 1,000 launches would be needed instead of 4"),
        (MoreLaunchesOfBothRuns(), "more launches in both runs would narrow it"),
        (
            InterleavedRun(0.03),
            "two runs are taken to differ by 3% in themselves, which only an interleaved run takes out",
        ),
    ],
)
def test_what_would_settle_it(remedy: Remedy, said: str) -> None:
    assert remedy_text(remedy) == said

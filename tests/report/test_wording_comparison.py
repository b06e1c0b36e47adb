"""What a comparison found is said in whole sentences, and what must not be overlooked has a heading."""

from __future__ import annotations

import pytest

from pyopbench.judge.comparison.case_key import CaseKey
from pyopbench.judge.comparison.diff import UnmatchedCase
from pyopbench.judge.comparison.notes import (
    DifferentProcessors,
    NoInterval,
    Note,
    NotPaired,
    Paired,
    SmallestSlowdown,
    SteppedDown,
)
from pyopbench.report.wording.comparison import NoteText, note_text, unmatched_text
from pyopbench.stats.unresolved import OneLaunch
from pyopbench.store.limitations import VersionsUnknown


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (
            DifferentProcessors("one", "another"),
            NoteText("one in A, another in B. The ratios compare machines, not code.", "DIFFERENT PROCESSORS"),
        ),
        (
            NotPaired(0.03, 1.25),
            NoteText(
                "A and B were not measured interleaved, so each interval is widened by at least 3% (one "
                "standard deviation) for the difference between runs, and by more where other cases differ "
                "more. The common change of all cases, 1.25×, is attributed to the machine.",
                "UNPAIRED",
            ),
        ),
        (
            Paired("round"),
            NoteText("Both were timed in the same rounds of the same processes, so ratios are paired by round."),
        ),
        (
            Paired("block"),
            NoteText("Both were sampled right after one another in every sweep, so ratios are paired by sweep."),
        ),
        (
            SteppedDown(0.05, 1),
            NoteText("All cases are corrected together (Holm), so that the chance of any false verdict is at most 5%."),
        ),
        (NoInterval(None), NoteText("No case has an interval, so nothing can be said.")),
        (
            NoInterval(OneLaunch()),
            NoteText("No case has an interval, so nothing can be said: one launch gives no interval."),
        ),
        (
            SmallestSlowdown(0.0712),
            NoteText("In a typical case, a slowdown to 1.07× or more would be found."),
        ),
        (
            SmallestSlowdown(1.28),
            NoteText(
                "The results are too noisy: even a case that takes twice as long could be missed. Stop other "
                "work on the machine, use more launches, or measure both in one run."
            ),
        ),
        (
            VersionsUnknown(),
            NoteText("Installed versions are known only where asv's matrix names them."),
        ),
    ],
)
def test_notes(note: Note, said: NoteText) -> None:
    assert note_text(note) == said


def test_a_heading_stands_before_its_text() -> None:
    assert str(NoteText("not measured interleaved.", "UNPAIRED")) == "UNPAIRED: not measured interleaved."
    assert str(NoteText("Paired.")) == "Paired."


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (UnmatchedCase(CaseKey("x"), "A", "failed", "wrong", "values differ"), "wrong in B: values differ"),
        (UnmatchedCase(CaseKey("x"), "A", "not_reached"), "planned in B but not reached"),
        (UnmatchedCase(CaseKey("x"), "B", "not_measured"), "not measured in A"),
    ],
)
def test_why_a_side_has_no_number(case: UnmatchedCase, said: str) -> None:
    assert unmatched_text(case) == said

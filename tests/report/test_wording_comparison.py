"""What a comparison found is said in whole sentences, and what must not be overlooked has a heading."""

from __future__ import annotations

import pytest

from pyopbench.compare.case_key import CaseKey
from pyopbench.compare.diff import UnmatchedCase
from pyopbench.compare.notes import (
    DifferentProcessors,
    NoInterval,
    Note,
    NotPaired,
    Paired,
    SmallestSlowdown,
    SteppedDown,
)
from pyopbench.report.wording.comparison import NoteText, note_text, unmatched_text
from pyopbench.results.limitations import VersionsUnknown
from pyopbench.stats.unresolved import OneLaunch


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (
            DifferentProcessors("one", "another"),
            NoteText("one in A, another in B. These ratios compare machines, not code.", "DIFFERENT PROCESSORS"),
        ),
        (
            NotPaired(0.03, 1.25),
            NoteText(
                "A and B were not measured interleaved. Each interval is widened by what runs differ by: at least 3% "
                "(one standard deviation), more where the other cases of this pair moved by more. All cases together "
                "are at 1.25×; what they have in common counts as the machine's.",
                "UNPAIRED",
            ),
        ),
        (
            Paired("round"),
            NoteText("Both were timed in the same rounds of the same processes: ratios are paired by round."),
        ),
        (
            Paired("block"),
            NoteText("Launches of both came in blocks, one of each in random order: ratios are paired by block."),
        ),
        (
            SteppedDown(0.05, 1),
            NoteText(
                "Each interval is the one that its verdict goes by. All cases share an error of 5%: the clearest case "
                "is tested first, and each one that is settled leaves more of it to the rest (Holm)."
            ),
        ),
        (NoInterval(None), NoteText("No case has an interval, so nothing is told apart.")),
        (
            NoInterval(OneLaunch()),
            NoteText("No case has an interval, so nothing is told apart: one launch gives no interval."),
        ),
        (
            SmallestSlowdown(0.0712),
            NoteText("In a usual case a slowdown to 1.07× or more would be found here."),
        ),
        (
            SmallestSlowdown(1.28),
            NoteText(
                "A usual case is too noisy to tell: even one that takes twice as long could be missed here. Stop "
                "other work on the machine, make more launches of both, or measure both in one run."
            ),
        ),
        (
            VersionsUnknown(),
            NoteText("Which versions were installed is known only as far as asv's matrix names them."),
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

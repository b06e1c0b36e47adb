"""What a decision says, in whole sentences."""

from __future__ import annotations

import pytest

from judgements import decision
from pyopbench.judge.findings import (
    Answer,
    BaselineBarred,
    BaselineFailed,
    BaselineLacksSizes,
    BaselineMeasured,
    BaselineNotMeasured,
    BeyondMeasured,
    CandidateLacksSizes,
    Caveat,
    ClearGain,
    DiffersBySize,
    DtypeNotCalled,
    FasterBaseline,
    FasterVariant,
    WouldChange,
    MeasuredGain,
    MoreLaunches,
    MoreTimeAtSizes,
    NoAnswerAt,
    NoCandidate,
    NoLaunchOverMix,
    NoneWorthIt,
    Note,
    Reason,
    SecondLaunch,
    SlowerBaseline,
    StillOpen,
    VariantMeasured,
)
from pyopbench.report.wording.decisions import (
    answer_text,
    caveat_text,
    change_text,
    gain_text,
    note_text,
    reason_text,
    summary_text,
    why,
)

NATIVE = MeasuredGain("native", 2.0, 1.9, 2.1, 3)
XLA = MeasuredGain("xla", 2.2, 1.7, 2.8, 3)
NATIVE_TEXT, XLA_TEXT = "native at 2.00× (1.90–2.10×, 3 launches)", "xla at 2.20× (1.70–2.80×, 3 launches)"
SETTLED_TEXT = "about 9 launches instead of 3 would settle it (native is the one to watch)"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("keep", None), "keep"),
        (Answer("undecided", None), "undecided"),
        (Answer("port", "native"), "port to native"),
        (Answer("switch", "numpy_function"), "switch to numpy_function"),
    ],
)
def test_an_answer(answer: Answer, words: str) -> None:
    assert answer_text(answer) == words


def test_a_summary_counts_the_decisions_of_each_kind() -> None:
    reading = (
        "A gain is time today, with py_func, over time afterwards: 2× is half the time; "
        "≥ is the lower end of its 95% interval."
    )
    made = ("keep", "port", "undecided", "port")
    assert summary_text(made, 2, "py_func") == (
        f"4 decisions on 2 ops: 2 to port, 1 to keep and 1 undecided. {reading}"
    )
    assert summary_text(("switch",), 1, "py_func") == f"1 decision on 1 op: 1 to switch to another callback. {reading}"


def test_a_gain_of_one_launch_has_no_interval() -> None:
    assert gain_text(MeasuredGain("native", 2.0, None, None, 1)) == "native at 2.00× (1 launch)"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (ClearGain("today", NATIVE), f"{NATIVE_TEXT} against today"),
        (
            ClearGain("today", NATIVE, XLA, faster_takes_more_work=True),
            f"{NATIVE_TEXT} against today; {XLA_TEXT} is not clearly faster than that, and takes more work",
        ),
        (
            ClearGain("today", NATIVE, XLA),
            f"{NATIVE_TEXT} against today; {XLA_TEXT} is not clearly faster than that",
        ),
        (
            NoneWorthIt("today", 1.03, NATIVE),
            f"every measured variant stays below 1.03× the speed of today: the best is {NATIVE_TEXT}",
        ),
        (
            StillOpen("today", 1.03, (NATIVE,), MoreLaunches("native", 3, 9)),
            f"{NATIVE_TEXT} may lie on either side of 1.03× the speed of today; {SETTLED_TEXT}",
        ),
        (NoCandidate("today", required=False), "nothing was measured beside today at all sizes of the mix"),
        (
            NoCandidate("today", required=True),
            "nothing that can do what is required was measured beside today at all sizes of the mix",
        ),
        (BaselineFailed("today", 1_000, "timeout", "no answer"), "today has no number: timeout at 1k: no answer"),
        (BaselineNotMeasured("today"), "today was not measured here, so there is nothing to compare with"),
        (DtypeNotCalled("float64"), "the mix that was given has no calls in float64"),
        (BeyondMeasured("today", (50_000,), ()), "today has no number at 50k, which the mix asks for"),
    ],
)
def test_a_reason(reason: Reason, words: str) -> None:
    assert reason_text(reason) == words


def test_a_reason_names_three_open_candidates_and_counts_the_rest() -> None:
    gains = tuple(MeasuredGain(name, 2.0, None, None, 1) for name in "abcde")
    named = "a at 2.00× (1 launch), b at 2.00× (1 launch), c at 2.00× (1 launch) and 2 others"
    border = "may lie on either side of 1.03× the speed of today"
    settled = "a second launch: one launch gives no interval"
    assert reason_text(StillOpen("today", 1.03, gains, SecondLaunch())) == f"{named} {border}; {settled}"


@pytest.mark.parametrize(
    ("caveat", "words"),
    [
        (BaselineBarred("today"), "today cannot stay, for what is required"),
        (BaselineLacksSizes("today", (50,), ()), "today has no number at 50, so this says nothing about it"),
        (
            CandidateLacksSizes("xla", (10, 1_000), ("crashed", "timeout")),
            "xla has no number at 10 and 1k (crashed and timeout) and is a candidate only at the other sizes",
        ),
        (
            NoLaunchOverMix("xla"),
            "xla has no launch with all sizes of the mix and is a candidate only by size",
        ),
    ],
)
def test_a_caveat(caveat: Caveat, words: str) -> None:
    assert caveat_text(caveat) == words


@pytest.mark.parametrize(
    ("flip", "words"),
    [
        (
            FasterBaseline("today", 1.7, "native"),
            "today at 1.70× its measured speed or more at every size: native would not be clearly worth it",
        ),
        (
            SlowerBaseline("today", 1.7, "native"),
            "today taking more than 1.70× its measured time at every size: native would be worth it",
        ),
        (FasterVariant("today", 1.03), "another variant, clearly more than 1.03× as fast as today over this mix"),
        (
            MoreTimeAtSizes("native", False, 0.31, 0.2, (1_000,)),
            "more than about 31% of today's time (it is 20% in this mix) spent at size 1k, where native does not pay",
        ),
        (
            MoreTimeAtSizes("native", True, 0.31, 0.2, (10, 1_000)),
            "more than about 31% of today's time (it is 20% in this mix) spent at sizes 10 and 1k, where native pays",
        ),
        (BaselineMeasured("today"), "a measurement of today there"),
        (VariantMeasured("today"), "a measurement of another variant wherever today has one"),
        (SecondLaunch(), "a second launch: one launch gives no interval"),
        (MoreLaunches("native", 3, 9), SETTLED_TEXT),
        (
            MoreLaunches("native", 3, None),
            "more than 1,000 launches would be needed instead of 3 (native is the one to watch)",
        ),
    ],
)
def test_a_flip(flip: WouldChange, words: str) -> None:
    assert change_text(flip) == words


@pytest.mark.parametrize(
    ("note", "words"),
    [(NoAnswerAt((10, 1_000)), "no number at 10 and 1k"), (DiffersBySize(), "the answer differs by size")],
)
def test_a_note(note: Note, words: str) -> None:
    assert note_text(note) == words


def test_why_is_the_reason_and_then_what_goes_with_it() -> None:
    made = decision("x", reason=ClearGain("today", NATIVE), caveats=(BaselineBarred("today"), NoLaunchOverMix("xla")))
    assert why(made) == (
        f"{NATIVE_TEXT} against today; today cannot stay, for what is required; "
        "xla has no launch with all sizes of the mix and is a candidate only by size"
    )

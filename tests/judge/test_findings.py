"""Findings are values: each kind has a name of its own, its numbers, and its words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias, get_args

import pytest

from finding_examples import example
from judgements import decision
from pyopbench.judge import findings
from pyopbench.judge.findings import (
    COUNTED,
    Action,
    Answer,
    BaselineBarred,
    BaselineFailed,
    BaselineLacksSizes,
    BaselineNotMeasured,
    BeyondMeasured,
    CandidateLacksSizes,
    Caveat,
    ClearGain,
    DiffersBySize,
    DtypeNotCalled,
    MeasuredGain,
    MoreLaunches,
    NoAnswerAt,
    NoCandidate,
    NoLaunchOverMix,
    NoneWorthIt,
    Note,
    Reason,
    SecondLaunch,
    StillOpen,
    summary_text,
)
from pyopbench.model import formatting

GROUPS = {
    "reason": findings.Reason,
    "caveat": findings.Caveat,
    "note": findings.Note,
}

NATIVE = MeasuredGain("native", 0.5, 0.47, 0.53, 3)
XLA = MeasuredGain("xla", 0.56, 0.41, 0.71, 3)
SETTLED = MoreLaunches("native", 3, 9)
TODAY, MIX = "today", (10, 1_000)

Named: TypeAlias = tuple[str, ...]
"""What a sentence has to name, in this order: labels, and numbers as people read them."""


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_every_kind_has_words(group: Any) -> None:
    sentences = [example(kind).text() for kind in get_args(group)]
    assert all(isinstance(sentence, str) and sentence for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


def test_every_kind_has_a_name_of_its_own() -> None:
    kinds = {kind for group in GROUPS.values() for kind in get_args(group)}
    assert len({example(kind).kind for kind in kinds}) == len(kinds)


def names_in_order(text: str, names: Named) -> bool:
    """Does a text hold all names, each behind the one before?"""
    place = 0
    for name in names:
        place = text.find(name, place)
        if place < 0:
            return False
        place += len(name)
    return True


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
    assert answer.text() == words


def test_a_summary_counts_the_decisions_of_each_kind() -> None:
    made: tuple[Action, ...] = ("keep", "port", "undecided", "port")
    counted = (formatting.count(4, "decision"), formatting.count(2, "op"), f"2 {COUNTED['port']}")
    text = summary_text(made, 2, "py_func")
    assert names_in_order(text, (*counted, f"1 {COUNTED['keep']}", f"1 {COUNTED['undecided']}", "py_func"))
    alone = summary_text(("switch",), 1, "py_func")
    assert names_in_order(alone, ("1 decision ", "1 op:", f"1 {COUNTED['switch']}"))
    assert COUNTED["port"] not in alone


def test_a_gain_has_its_interval_and_launches() -> None:
    interval = formatting.saved_interval(NATIVE.low, NATIVE.high)
    assert names_in_order(NATIVE.text(), ("native", formatting.points(0.5), interval, "3 launches"))
    one = MeasuredGain("native", 0.5, None, None, 1).text()
    assert names_in_order(one, ("native", formatting.points(0.5), "1 launch"))
    assert formatting.MISSING not in one


THRESHOLD = formatting.points(0.03)


@pytest.mark.parametrize(
    ("reason", "names"),
    [
        (ClearGain(TODAY, NATIVE), (NATIVE.text(), TODAY)),
        (ClearGain(TODAY, NATIVE, XLA), (NATIVE.text(), TODAY, XLA.text())),
        (NoneWorthIt(TODAY, 0.03, NATIVE), (THRESHOLD, TODAY, NATIVE.text())),
        (StillOpen(TODAY, 0.03, (NATIVE,), SETTLED), (NATIVE.text(), THRESHOLD, TODAY, SETTLED.text())),
        (NoCandidate(TODAY, required=False), (TODAY,)),
        (BaselineFailed(TODAY, 1_000, "timeout", "no answer"), (TODAY, "timeout", "1k", "no answer")),
        (BaselineNotMeasured(TODAY), (TODAY,)),
        (DtypeNotCalled("float64"), ("float64",)),
        (BeyondMeasured(TODAY, (50_000,), ()), (TODAY, "50k")),
        (BeyondMeasured(TODAY, (50_000,), ("crashed",)), (TODAY, "50k", "crashed")),
    ],
)
def test_a_reason_names_its_labels_and_numbers(reason: Reason, names: Named) -> None:
    assert names_in_order(reason.text(), names)


def test_more_work_and_what_is_required_are_told() -> None:
    easy, hard = (ClearGain(TODAY, NATIVE, XLA, faster_takes_more_work=more).text() for more in (False, True))
    assert hard.startswith(easy)
    assert len(hard) > len(easy)
    free, bound = (NoCandidate(TODAY, required=required).text() for required in (False, True))
    assert free != bound


def test_a_reason_names_three_open_candidates_and_counts_the_rest() -> None:
    gains = tuple(MeasuredGain(name, 0.5, None, None, 1) for name in "abcde")
    text = StillOpen(TODAY, 0.03, gains, SecondLaunch()).text()
    assert names_in_order(
        text, (*(gain.text() for gain in gains[:3]), formatting.count(2, "other"), SecondLaunch().text())
    )
    assert not any(gain.text() in text for gain in gains[3:])


@pytest.mark.parametrize(
    ("caveat", "names"),
    [
        (BaselineBarred(TODAY), (TODAY,)),
        (BaselineLacksSizes(TODAY, (50,), ()), (TODAY, "50")),
        (CandidateLacksSizes("xla", MIX, ("crashed", "timeout")), ("xla", "10", "1k", "crashed", "timeout")),
        (NoLaunchOverMix("xla"), ("xla",)),
    ],
)
def test_a_caveat_names_its_labels_and_sizes(caveat: Caveat, names: Named) -> None:
    assert names_in_order(caveat.text(), names)


def test_notes() -> None:
    notes: tuple[Note, ...] = (NoAnswerAt(MIX), DiffersBySize())
    assert names_in_order(notes[0].text(), ("10", "1k"))
    assert notes[0].text() != notes[1].text()


# What an answer may cost, and what else saves as much
def test_what_an_answer_may_cost_is_told_with_what_saves_as_much() -> None:
    made = decision("x", loss=0.052, as_good=("traced", "xla"))
    assert names_in_order(made.loss_text(), (formatting.points(0.052), "traced", "xla"))
    assert replace(made, as_good=()).loss_text() in made.loss_text()
    assert replace(made, loss=None).loss_text() == ""
    assert replace(made, loss=0.0004, as_good=()).loss_text() == "no other variant is better"


def test_a_provisional_answer_is_told_apart() -> None:
    sure, unsure = (decision("x", loss=0.3, as_good=(), is_provisional=one).loss_text() for one in (False, True))
    assert sure in unsure
    assert sure != unsure


def test_why_is_the_reason_and_then_what_goes_with_it() -> None:
    caveats = (BaselineBarred(TODAY), NoLaunchOverMix("xla"))
    made = decision("x", reason=ClearGain(TODAY, NATIVE), caveats=caveats)
    assert made.why() == "; ".join((made.reason.text(), made.loss_text(), *(caveat.text() for caveat in caveats)))
    undecided = replace(made, loss=None, caveats=())
    assert undecided.why() == made.reason.text()


@pytest.mark.parametrize(
    ("gain", "shown", "hidden"),
    [
        (MeasuredGain("numba_op", -50.0, -400.0, 1.0, 2), [formatting.TOO_NOISY], "%"),
        (MeasuredGain("numba_op", 0.4, -11.0, 1.0, 2), [formatting.TOO_NOISY], "%"),
        (MeasuredGain("numba_op", -5.0, -6.0, -4.0, 3), ["6.00×", "5.00×", "7.00×"], "%"),
        (MeasuredGain("numba_op", -50.0, None, None, 1), ["51.0×"], "%"),
        (MeasuredGain("numba_op", -0.5, -0.7, -0.3, 3), ["−50%", "−70%", "−30%"], "×"),
        (MeasuredGain("numba_op", 0.2, -1.5, 0.9, 2), ["20%", "−150%", "90%"], "×"),
    ],
)
def test_a_gain_that_is_far_below_nothing_is_a_multiple_of_the_time_or_noise(
    gain: MeasuredGain, shown: list[str], hidden: str
) -> None:
    text = gain.text()
    assert all(one in text for one in shown)
    assert hidden not in text

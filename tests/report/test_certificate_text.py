"""What is not as good as promised, as whole lines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from certificates import DECISIONS, certificate
from pyopbench.report.certificate_text import effect_text, made_text, renaming_text
from pyopbench.store.certificate import ControlRun, Overhead, Pairs, RunEffect
from pyopbench.store.promises import (
    BoundsTooTight,
    LosesTooMuch,
    MayBeToldApart,
    Miss,
    NotShownEquivalent,
    SlowdownMissed,
    ToldApart,
    TooCostly,
    TooManyRenamed,
    Undone,
    loss_text,
)


@pytest.mark.parametrize(
    ("miss", "said"),
    [
        (
            ToldApart(Pairs(0, 1_000, 6, 5, 900, 89, 1.0, 0.018, 0.88), 0.001),
            "11 of 1,000 identical pairs were found different, 1.1%; promised: at most 0.1%",
        ),
        (
            MayBeToldApart(Pairs(0, 200, 1, 1, 198, 0, 1.0, 0.031, 0.97), 0.02),
            "2 of 200 identical pairs were found different: up to 3.1%; promised: at most 2%",
        ),
        (
            SlowdownMissed(Pairs(5, 100, 0, 94, 0, 6, 1.05, 0.9, 0.0), 0.95),
            "94 of 100 slowdowns by 5% were found, 94%; promised: at least 95%",
        ),
        (
            NotShownEquivalent(Pairs(0, 200, 0, 0, 188, 12, 1.0, 0.015, 0.9), 0.95),
            "188 of 200 identical pairs were found equivalent, 94%; promised: at least 95%",
        ),
        (TooManyRenamed(DECISIONS, 1 / 24), "1 of 24 decisions changed from run to run; promised: at most 4.17%"),
        (
            LosesTooMuch(DECISIONS, 0.001, 0.02),
            f"answers cost {loss_text(DECISIONS)}; promised: at most 0.1% and 2%",
        ),
        (
            BoundsTooTight(replace(DECISIONS, unbounded=2)),
            "2 answers cost more than the run's own bound, judged by the other runs; promised: none",
        ),
        (Undone(("controls-4", "decisions-3")), "there was no time left for controls-4 and decisions-3"),
        (
            TooCostly(Overhead(20e-6, 20.03e-6), 0.001),
            "timing adds 0.15% to a call of 20.0 µs; promised: at most 0.1%",
        ),
    ],
)
def test_misses(miss: Miss, said: str) -> None:
    assert miss.text() == said


def test_a_decision_that_was_renamed_is_told_with_every_answer() -> None:
    assert renaming_text(DECISIONS.renamed[0]) == "sinh, training: keep, then undecided, then port to native"


def test_what_answers_cost_is_told_with_the_worst_of_them() -> None:
    assert loss_text(DECISIONS) == "0.5% of the callback's time on average, at most 2.5% (relu, inference)"
    assert loss_text(replace(DECISIONS, worst=None, mean_loss=0.0)) == "0% of the callback's time on average"


def test_the_run_effect_is_told_with_its_interval_and_what_is_allowed_for() -> None:
    told = effect_text(RunEffect(0.02, 0.01, 0.125, 0.044, 3, 96))
    assert told == "2% (1% to 12.5%); intervals allow for 4.4%"
    assert effect_text(None) == "not known; intervals allow for the usual value"


MADE = "Certified on 2030-01-01 00:00 UTC in 23 min 20 s"
COMPARED = (
    "Variants were compared with copies of themselves, and callbacks with copies slowed down by a known amount. A "
    "difference counts from 3% of the callback's time."
)
KNOWN = "controls (code whose answer is known)"
LAUNCHES = " of at most 24 launches each"
CUT = ", 1 of them cut short by their budget"
ALL = "All decisions were made 3 times, and each run was judged by the others."
FEW = "The decisions of a few ops were made 3 times, and each run was judged by the others."
ALONE = "The decisions were not repeated."


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            f"{MADE}, in full: 3 runs of {KNOWN} in mode node, 18 to 24{LAUNCHES}{CUT}. {COMPARED} {ALL}",
        ),
        (
            {"quick": True, "controls": (ControlRun(9, 24, "look"),)},
            f"{MADE}, from few pairs: 1 run of {KNOWN} in mode node, 9{LAUNCHES}. {COMPARED} {FEW}",
        ),
        (
            {"decisions": None, "controls": ()},
            f"{MADE}, in full: 0 runs of {KNOWN} in mode node, no launches each. {COMPARED} {ALONE}",
        ),
    ],
)
def test_a_certificate_says_what_it_is_made_of(changes: dict[str, Any], said: str) -> None:
    assert made_text(certificate(**changes)) == said

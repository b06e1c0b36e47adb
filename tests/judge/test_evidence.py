"""What an answer rests on, what it leaves out."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from judgements import decision
from pyopbench.judge.candidates import SettingComparison
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.decision import Bar, Unknown
from pyopbench.judge.evidence import (
    caveats_of,
    notes_of,
    reason_of,
    settling,
)
from pyopbench.judge.findings import (
    Answer,
    BaselineBarred,
    BaselineLacksSizes,
    CandidateLacksSizes,
    ClearGain,
    DiffersBySize,
    MoreLaunches,
    NoAnswerAt,
    NoCandidate,
    NoLaunchOverMix,
    NoneWorthIt,
    Reason,
    SecondLaunch,
    StillOpen,
)
from pyopbench.judge.program import Mix, even_mix
from pyopbench.model.case import Case, Failure
from shares import BySize, candidate, comparison_by_hand, contrasts_by_hand

SIZES = (10, 100, 1000)
PORT = Answer("port", "native")
STEPS = (-0.003, 0.0, 0.003)

Labelled: TypeAlias = tuple[str, BySize, float]
"""A candidate: its label, its shares by size and launch, and the effort that it takes."""


def shares_of(label: str, *shares: float, noise: float = 1.0) -> Labelled:
    """A candidate with one share per size, over three launches."""
    return (
        label,
        {size: [share + noise * step for step in STEPS] for size, share in zip(SIZES, shares, strict=True)},
        1.0,
    )


def made(*candidates: Labelled, **changes: Any) -> SettingComparison:
    contrasts = contrasts_by_hand({label: by_size for label, by_size, _ in candidates})
    given = [candidate(contrasts, label, effort) for label, _, effort in candidates]
    return comparison_by_hand(contrasts, given, **changes)


def choose_over(mix: Mix, *candidates: Labelled) -> Choice:
    comparison = made(*candidates)
    return choose(comparison.candidates, comparison.contrasts, mix, Rules(0.03))


def test_undecided_says_how_many_launches_would_settle_it() -> None:
    """With the mean and spread of three launches repeated often enough, the interval is clear."""
    wide = shares_of("native", 0.85, 0.85, 0.85, noise=20)
    mix = even_mix(SIZES)
    choice = choose_over(mix, wide)
    assert choice.action == "undecided"
    change = settling(choice)
    assert isinstance(change, MoreLaunches)
    assert (change.label, change.launches) == ("native", 3)
    assert change.enough is not None
    assert 3 < change.enough < 100


def test_undecided_watches_the_soonest_of_those_above_and_the_last_of_those_below() -> None:
    def watched(*candidates: Labelled) -> str:
        found = settling(choose_over(even_mix(SIZES), *candidates))
        assert isinstance(found, MoreLaunches)
        return found.label

    sooner, later = shares_of("sooner", 0.85, 0.85, 0.85, noise=30), shares_of("later", 0.93, 0.93, 0.93, noise=30)
    assert watched(sooner, later) == "sooner"
    below, nearer = shares_of("below", 1.1, 1.1, 1.1, noise=60), shares_of("nearer", 1.02, 1.02, 1.02, noise=60)
    assert watched(below, nearer) == "nearer"


def test_one_launch_asks_for_another() -> None:
    mix = even_mix((10,))
    choice = choose_over(mix, ("native", {10: [0.4]}, 1.0))
    assert settling(choice) == SecondLaunch()


# why a decision is what it is
def at_ten(label: str, *shares: float, effort: float = 1, size: int = 10) -> Labelled:
    """A candidate at one size with one share per launch."""
    return label, {size: list(shares)}, effort


def comparison_of(*candidates: Labelled, **changes: Any) -> SettingComparison:
    failures = {("slow_op", 10): Failure("any", "crashed", "signal 11", 0)}
    usual: dict[str, Any] = {"seconds": {10: 1.0}, "planned": (10,), "failures": failures}
    return made(*candidates, **{**usual, **changes})


def reason(*candidates: Labelled, **changes: Any) -> Reason:
    comparison = comparison_of(*candidates, **changes)
    choice = choose(comparison.candidates, comparison.contrasts, even_mix((10,)), Rules(0.03))
    return reason_of(choice, comparison)


def test_a_port_has_what_it_saves_its_interval_and_launches() -> None:
    found = reason(at_ten("native", 0.4, 0.4, 0.4))
    assert isinstance(found, ClearGain)
    assert (found.baseline, found.chosen.label, found.chosen.launches) == ("today", "native", 3)
    assert (found.chosen.saved, found.chosen.low, found.chosen.high) == pytest.approx((0.6, 0.6, 0.6))
    assert found.faster is None


def test_the_one_that_saves_most_is_there_where_it_saves_more_by_what_counts() -> None:
    """5 points more, give or take as much: not clear, so that the one of least effort is chosen."""
    found = reason(at_ten("native", 0.50, 0.50, 0.50), at_ten("xla", 0.40, 0.50, 0.45, effort=5))
    assert isinstance(found, ClearGain)
    assert found.faster is not None
    assert (found.chosen.label, found.faster.label, found.faster_takes_more_work) == ("native", "xla", True)
    assert found.faster.saved == pytest.approx(0.55)


def test_one_that_saves_more_by_less_than_the_minimum_effect_is_passed_over() -> None:
    found = reason(at_ten("native", 0.50, 0.50), at_ten("xla", 0.48, 0.48, effort=5))
    assert isinstance(found, ClearGain)
    assert (found.chosen.label, found.faster) == ("native", None)


def test_an_undecided_op_has_every_open_candidate_the_best_first() -> None:
    names = ("a", "b", "c", "d", "e")
    found = reason(*(at_ten(name, 0.7 - 0.1 * place, 1.5 - 0.1 * place) for place, name in enumerate(names)))
    assert isinstance(found, StillOpen)
    assert [gain.label for gain in found.candidates] == ["e", "d", "c", "b", "a"]
    assert isinstance(found.settled_by, MoreLaunches)
    assert (found.threshold, found.settled_by.launches) == (0.03, 2)


def test_a_gain_of_one_launch_has_no_interval() -> None:
    found = reason(at_ten("native", 0.5))
    assert isinstance(found, StillOpen)
    assert (found.candidates[0].low, found.candidates[0].high, found.candidates[0].launches) == (None, None, 1)
    assert found.settled_by == SecondLaunch()


def test_keep_has_the_best() -> None:
    found = reason(at_ten("native", 2.0, 2.0), at_ten("xla", 1.2, 1.2))
    assert isinstance(found, NoneWorthIt)
    assert (found.baseline, found.threshold, found.best.label) == ("today", 0.03, "xla")
    assert found.best.saved == pytest.approx(-0.2)


def test_no_candidates() -> None:
    assert reason() == NoCandidate("today", required=False)
    assert reason(barred=(Bar("native", "xla", "fails", "no"),)) == NoCandidate("today", required=True)
    assert reason(unknown=(Unknown("xla", ("today",)),)) == NoCandidate("today", required=True)


def test_what_is_missing_goes_with_the_reason() -> None:
    candidates = (at_ten("native", 0.5, 0.5), at_ten("slow_op", 0.3, 0.3, size=99))
    found = caveats_of(comparison_of(*candidates, planned=(10, 50), must_change=True), even_mix((10,)))
    assert found == (
        BaselineBarred("today"),
        BaselineLacksSizes("today", (50,), ()),
        CandidateLacksSizes("slow_op", (10,), ("crashed",)),
    )


def test_a_candidate_without_a_launch_of_all_sizes_is_none_over_the_mix() -> None:
    apart = ("native", {10: [0.4, math.nan], 100: [math.nan, 0.4]}, 1.0)
    comparison = comparison_of(apart, planned=(10, 100), seconds={10: 1.0, 100: 1.0})
    assert caveats_of(comparison, even_mix((10, 100))) == (NoLaunchOverMix("native"),)


def test_planned_sizes_without_an_answer_are_noted_and_an_answer_that_differs_by_size() -> None:
    port = decision("native", op="sinh")  # from 1k to 10k, and at 100k
    sizes = (100, 1_000, 50_000, 100_000)
    run: Any = SimpleNamespace(
        cases=[Case("sinh", "native", "none", "forward", "call", "float32", n).id for n in sizes]
    )
    assert notes_of(port, run) == (NoAnswerAt((100, 50_000)), DiffersBySize())
    assert notes_of(replace(port, ranges=port.ranges[:1], dtype="float64"), run) == ()
    assert notes_of(replace(port, ranges=()), run) == ()

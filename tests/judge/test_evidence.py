"""Why a decision is what it is, with its numbers; and what would change it, each tried by doing what it says."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judgements import decision
from pyopbench.core.model import Case, Failure
from pyopbench.judge.bars import Bar, Unknown
from pyopbench.judge.candidates import Candidate, Comparison, Setting
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.evidence import break_even_share, caveats_of, flips_of, notes_of, reason_of, settling
from pyopbench.judge.findings import (
    Answer,
    BaselineBarred,
    BaselineLacksSizes,
    CandidateLacksSizes,
    ClearGain,
    DiffersBySize,
    FasterBaseline,
    FasterVariant,
    MoreLaunches,
    MoreTimeAtSizes,
    NoAnswerAt,
    NoCandidate,
    NoLaunchOverMix,
    NoneWorthIt,
    Reason,
    SecondLaunch,
    SlowerBaseline,
    StillOpen,
    VariantMeasured,
)
from pyopbench.judge.mix import Mix, calls_mix, even_mix

SIZES = (10, 100, 1000)
PORT, KEEP = Answer("port", "native"), Answer("keep", None)
STEPS = np.array([-1.0, 0.0, 1.0]) * 0.003


def candidate(label: str, *ratios: float, noise: float = 1.0) -> Candidate:
    """A candidate with one ratio per size, over three launches."""
    logs = np.log(ratios)[None, :] + noise * STEPS[:, None]
    return Candidate(label, "port", 1, pd.DataFrame(logs, columns=list(SIZES)))


def mix_with(shares: list[float]) -> Mix:
    """Today's time is spent at the three sizes in these shares."""
    return calls_mix(dict(zip(SIZES, shares, strict=True)), dict.fromkeys(SIZES, 1.0), "it")


def choose_over(mix: Mix, *candidates: Candidate) -> Choice:
    return choose(candidates, mix, Rules(0.03))


def test_the_break_even_share_by_hand() -> None:
    """Half the speed at one size and twice the speed at the rest: p * 2 + (1 - p) * 0.5 = 1 at p = 1/3."""
    apart = np.array([True, False, False])
    share = break_even_share(np.array([2.0, 0.5, 0.5]), np.array([0.2, 0.4, 0.4]), apart, 1.0)
    assert share == pytest.approx(1 / 3)


def test_a_port_stops_paying_at_the_share_that_is_found() -> None:
    native = candidate("native", 0.5, 0.6, 2.0, noise=0.01)
    mix = mix_with([0.4, 0.4, 0.2])
    choice = choose_over(mix, native)
    assert choice.answer == PORT
    speed, share = flips_of(choice, mix, "py_func")
    assert isinstance(speed, FasterBaseline)
    assert isinstance(share, MoreTimeAtSizes)
    assert (share.label, share.pays, share.sizes) == ("native", False, (1000,))
    assert share.share_now == pytest.approx(0.2)
    for far, answer in ((share.share - 0.02, PORT), (share.share + 0.02, KEEP)):
        assert choose_over(mix_with([(1 - far) / 2, (1 - far) / 2, far]), native).answer == answer


def test_a_port_stops_being_clear_when_today_is_as_much_faster_as_is_found() -> None:
    mix = even_mix(SIZES)
    (flip,) = flips_of(choose_over(mix, candidate("native", 0.5, 0.5, 0.5)), mix, "today")
    assert isinstance(flip, FasterBaseline)
    assert (flip.baseline, flip.label) == ("today", "native")
    for factor, label in ((flip.speed * 0.99, "native"), (flip.speed * 1.01, None)):
        ratio = 0.5 * factor
        assert choose_over(mix, candidate("native", ratio, ratio, ratio)).label == label


def test_a_port_that_pays_everywhere_has_no_share_at_which_it_does_not() -> None:
    mix = even_mix(SIZES)
    found = flips_of(choose_over(mix, candidate("native", 0.5, 0.6, 0.7)), mix, "py_func")
    assert [type(flip) for flip in found] == [FasterBaseline]


def test_keep_says_how_much_slower_today_would_have_to_be() -> None:
    mix = even_mix(SIZES)
    choice = choose_over(mix, candidate("native", 1.5, 1.5, 1.5))
    assert choice.action == "keep"
    variant, slower = flips_of(choice, mix, "today")
    assert variant == FasterVariant("today", 1.03)
    assert isinstance(slower, SlowerBaseline)
    for actual, label in ((slower.times * 0.99, None), (slower.times * 1.01, "native")):
        ratio = 1.5 / actual
        assert choose_over(mix, candidate("native", ratio, ratio, ratio)).label == label


def test_keep_says_at_which_share_the_nearest_candidate_would_pay() -> None:
    native, xla = candidate("native", 0.5, 2.0, 2.0, noise=0.01), candidate("xla", 0.9, 5.0, 5.0, noise=0.01)
    mix = even_mix(SIZES)
    choice = choose_over(mix, native, xla)
    assert choice.action == "keep"
    flip = flips_of(choice, mix, "py_func")[-1]
    assert isinstance(flip, MoreTimeAtSizes)
    assert (flip.label, flip.pays, flip.sizes) == ("native", True, (10,))
    for share, answer in ((flip.share - 0.02, KEEP), (flip.share + 0.02, PORT)):
        assert choose_over(mix_with([share, (1 - share) / 2, (1 - share) / 2]), native, xla).answer == answer


def test_undecided_says_how_many_launches_would_settle_it() -> None:
    """With the mean and spread of three launches repeated often enough, the interval is clear."""
    wide = candidate("native", 0.9, 0.9, 0.9, noise=20)
    mix = even_mix(SIZES)
    choice = choose_over(mix, wide)
    assert choice.action == "undecided"
    (flip,) = flips_of(choice, mix, "py_func")
    assert flip == settling(choice)
    assert isinstance(flip, MoreLaunches)
    assert (flip.label, flip.launches) == ("native", 3)
    assert flip.enough is not None
    assert 3 < flip.enough < 100


def test_undecided_watches_the_soonest_of_those_above_and_the_last_of_those_below() -> None:
    def watched(*candidates: Candidate) -> str:
        found = settling(choose_over(even_mix(SIZES), *candidates))
        assert isinstance(found, MoreLaunches)
        return found.label

    sooner, later = candidate("sooner", 0.85, 0.85, 0.85, noise=20), candidate("later", 0.93, 0.93, 0.93, noise=20)
    assert watched(sooner, later) == "sooner"
    below, nearer = candidate("below", 1.1, 1.1, 1.1, noise=30), candidate("nearer", 1.02, 1.02, 1.02, noise=30)
    assert watched(below, nearer) == "nearer"


def test_one_launch_asks_for_another() -> None:
    mix = even_mix((10,))
    choice = choose_over(mix, Candidate("native", "port", 1, pd.DataFrame({10: [-1.0]})))
    assert flips_of(choice, mix, "py_func") == (SecondLaunch(),)


def test_without_candidates_anything_would_help() -> None:
    mix = even_mix(SIZES)
    assert flips_of(choose_over(mix), mix, "py_func") == (VariantMeasured("py_func"),)


# why a decision is what it is


def at_ten(label: str, *gains: float, effort: float = 1, size: int = 10) -> Candidate:
    """A candidate at one size with one gain per launch."""
    return Candidate(label, "port", effort, pd.DataFrame({size: -np.log(gains)}))


def comparison_of(*candidates: Candidate, **changes: Any) -> Comparison:
    made = Comparison(
        setting=Setting("sinh", "forward", "call", "float32", "cpu"),
        baseline="today",
        seconds={10: 1.0},
        candidates=candidates,
        curves=pd.DataFrame(),
        planned=(10,),
        failures={("slow_op", 10): Failure("any", "crashed", "signal 11", 0)},
    )
    return replace(made, **changes)


def reason(*candidates: Candidate, **changes: Any) -> Reason:
    return reason_of(choose_over(even_mix((10,)), *candidates), comparison_of(*candidates, **changes))


def test_a_port_has_its_gain_interval_and_launches() -> None:
    found = reason(at_ten("native", 2.0, 2.0, 2.0))
    assert isinstance(found, ClearGain)
    assert (found.baseline, found.chosen.label, found.chosen.launches) == ("today", "native", 3)
    assert (found.chosen.gain, found.chosen.low, found.chosen.high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.faster is None


def test_the_fastest_is_there_where_it_is_not_clearly_faster() -> None:
    found = reason(at_ten("native", 2.0, 2.01, 2.0), at_ten("xla", 2.05, 2.5, 2.1, effort=5))
    assert isinstance(found, ClearGain)
    assert found.faster is not None
    assert (found.chosen.label, found.faster.label, found.faster_takes_more_work) == ("native", "xla", True)
    assert found.faster.gain == pytest.approx((2.05 * 2.5 * 2.1) ** (1 / 3))


def test_one_that_is_faster_by_less_than_the_minimum_effect_is_passed_over() -> None:
    found = reason(at_ten("native", 2.0, 2.0), at_ten("xla", 2.01, 2.01, effort=5))
    assert isinstance(found, ClearGain)
    assert found.faster is None


def test_an_undecided_op_has_every_open_candidate_the_best_first() -> None:
    names = ("a", "b", "c", "d", "e")
    found = reason(*(at_ten(name, 0.5 + place, 2.0 + place) for place, name in enumerate(names)))
    assert isinstance(found, StillOpen)
    assert [gain.label for gain in found.candidates] == ["e", "d", "c", "b", "a"]
    assert isinstance(found.settled_by, MoreLaunches)
    assert (found.threshold, found.settled_by.launches) == (1.03, 2)


def test_a_gain_of_one_launch_has_no_interval() -> None:
    found = reason(at_ten("native", 2.0))
    assert isinstance(found, StillOpen)
    assert (found.candidates[0].low, found.candidates[0].high, found.candidates[0].launches) == (None, None, 1)
    assert found.settled_by == SecondLaunch()


def test_keep_has_the_best() -> None:
    found = reason(at_ten("native", 0.5, 0.5), at_ten("xla", 0.8, 0.8))
    assert isinstance(found, NoneWorthIt)
    assert (found.baseline, found.threshold, found.best.label) == ("today", 1.03, "xla")


def test_no_candidates() -> None:
    assert reason() == NoCandidate("today", required=False)
    assert reason(barred=(Bar("native", "xla", "xla", "fails", "no"),)) == NoCandidate("today", required=True)
    assert reason(unknown=(Unknown("xla", ("today",)),)) == NoCandidate("today", required=True)


def test_what_is_missing_goes_with_the_reason() -> None:
    candidates = (at_ten("native", 2.0, 2.0), at_ten("slow_op", 3.0, 3.0, size=99))
    found = caveats_of(comparison_of(*candidates, planned=(10, 50), must_change=True), even_mix((10,)))
    assert found == (
        BaselineBarred("today"),
        BaselineLacksSizes("today", (50,), ()),
        CandidateLacksSizes("slow_op", (10,), ("crashed",)),
    )


def test_a_candidate_without_a_launch_of_all_sizes_is_none_over_the_mix() -> None:
    apart = Candidate("native", "port", 1, pd.DataFrame({10: [-1.0, np.nan], 100: [np.nan, -1.0]}))
    comparison = comparison_of(apart, planned=(10, 100), seconds={10: 1.0, 100: 1.0})
    assert caveats_of(comparison, even_mix((10, 100))) == (NoLaunchOverMix("native"),)


def test_planned_sizes_without_an_answer_are_noted_and_an_answer_that_differs_by_size() -> None:
    made = decision("native", op="sinh")  # from 1k to 10k, and at 100k
    sizes = (100, 1_000, 50_000, 100_000)
    run: Any = SimpleNamespace(
        cases=[Case("sinh", "native", "none", "forward", "call", "float32", n).id for n in sizes]
    )
    assert notes_of(made, run) == (NoAnswerAt((100, 50_000)), DiffersBySize())
    assert notes_of(replace(made, ranges=made.ranges[:1], dtype="float64"), run) == ()
    assert notes_of(replace(made, ranges=()), run) == ()

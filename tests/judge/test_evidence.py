"""What an answer rests on, what it leaves out."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Any, TypeAlias

import pytest

from pyopbench.judge.candidates import SettingComparison
from pyopbench.judge.choice import Choice, Rules, choose
from pyopbench.judge.decision import Answer, Bar, Reason, Unknown
from pyopbench.judge.evidence import caveats_of, gain_text, launches_to_settle, reason_of
from pyopbench.judge.program import Mix, even_mix
from pyopbench.model import formatting
from pyopbench.model.case import Failure
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
    label, launches, enough = launches_to_settle(choice)
    assert (label, launches) == ("native", 3)
    assert enough is not None
    assert 3 < enough < 100


def test_undecided_watches_the_soonest_of_those_above_and_the_last_of_those_below() -> None:
    def watched(*candidates: Labelled) -> str:
        return launches_to_settle(choose_over(even_mix(SIZES), *candidates))[0]

    sooner, later = shares_of("sooner", 0.85, 0.85, 0.85, noise=30), shares_of("later", 0.93, 0.93, 0.93, noise=30)
    assert watched(sooner, later) == "sooner"
    below, nearer = shares_of("below", 1.1, 1.1, 1.1, noise=60), shares_of("nearer", 1.02, 1.02, 1.02, noise=60)
    assert watched(below, nearer) == "nearer"


def test_one_launch_asks_for_another() -> None:
    choice = choose_over(even_mix((10,)), ("native", {10: [0.4]}, 1.0))
    assert launches_to_settle(choice) == ("native", 1, 2)


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
    assert found.kind == "clear_gain"
    assert "native saves 60% (60% to 60%, 3 launches) of the time of today" in found.sentence


def test_the_one_that_saves_most_is_there_where_it_saves_more_by_what_counts() -> None:
    """5 points more, give or take as much: not clear, so that the one of least effort is chosen."""
    chosen, faster = at_ten("native", 0.50, 0.50, 0.50), at_ten("xla", 0.40, 0.50, 0.45, effort=5)
    assert re.search("native saves 50%.*; xla saves 55%.*more work$", reason(chosen, faster).sentence)
    near = at_ten("xla", 0.48, 0.48, 0.48, effort=5)
    assert "xla" not in reason(chosen, near).sentence, "less than the minimum effect more"


def test_an_undecided_op_has_the_best_open_candidates_and_counts_the_rest() -> None:
    names = ("a", "b", "c", "d", "e")
    found = reason(*(at_ten(name, 0.7 - 0.1 * place, 1.5 - 0.1 * place) for place, name in enumerate(names)))
    assert (found.kind, found.launches) == ("still_open", 2)
    assert re.match("e is .*, d is .*, c is .* and 2 others", found.sentence)
    assert "4 others" in found.brief


def test_a_gain_of_one_launch_has_no_interval() -> None:
    found = reason(at_ten("native", 0.5))
    assert "native saves 50% (1 launch)" in found.sentence
    assert (found.kind, found.launches, found.enough, found.most_saved) == ("still_open", 1, 2, None)


def test_keep_has_the_best() -> None:
    found = reason(at_ten("native", 2.0, 2.0), at_ten("xla", 1.2, 1.2))
    assert found.kind == "none_worth_it"
    assert "xla saves −20%" in found.sentence


def test_no_candidates() -> None:
    assert reason().kind == "no_candidate"
    assert reason(barred=(Bar("native", "xla", "fails", "no"),)).kind == "none_meets_requirements"
    assert reason(unknown=(Unknown("xla", ("today",)),)).kind == "none_meets_requirements"


@pytest.mark.parametrize(
    ("saved", "shown", "hidden"),
    [
        ((-400.0, -50.0, 1.0), [formatting.TOO_NOISY], "%"),
        ((-11.0, 0.4, 1.0), [formatting.TOO_NOISY], "%"),
        ((-10.0, 0.4, 1.0), ["40%"], "×"),
        ((-6.0, -5.0, -4.0), ["6.00×", "5.00×", "7.00×"], "%"),
        ((math.nan, -50.0, math.nan), ["51.0×"], "%"),
        ((-0.7, -0.5, -0.3), ["−50%", "−70%", "−30%"], "×"),
        ((-1.5, 0.2, 0.9), ["20%", "−150%", "90%"], "×"),
    ],
)
def test_a_gain_that_is_far_below_nothing_is_a_multiple_of_the_time_or_noise(
    saved: tuple[float, float, float], shown: list[str], hidden: str
) -> None:
    low, centre, high = saved
    gain: Any = SimpleNamespace(
        label="numba_op", saved=centre, saved_low=low, saved_high=high, change=SimpleNamespace(n=2)
    )
    text = gain_text(gain)
    assert all(one in text for one in shown)
    assert hidden not in text


def test_what_is_missing_goes_with_the_reason() -> None:
    candidates = (at_ten("native", 0.5, 0.5), at_ten("slow_op", 0.3, 0.3, size=99))
    found = caveats_of(comparison_of(*candidates, planned=(10, 50), must_change=True), even_mix((10,)))
    assert len(found) == 3
    assert found[0].startswith("today does not support")
    assert found[1].startswith("today has no number at 50,")
    assert found[2].startswith("slow_op has no number at 10 (crashed),")


def test_a_candidate_without_a_launch_of_all_sizes_is_none_over_the_mix() -> None:
    apart = ("native", {10: [0.4, math.nan], 100: [math.nan, 0.4]}, 1.0)
    comparison = comparison_of(apart, planned=(10, 100), seconds={10: 1.0, 100: 1.0})
    (caveat,) = caveats_of(comparison, even_mix((10, 100)))
    assert "no launch measured native" in caveat

"""Which candidate is chosen, on numbers small enough to follow by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pyopbench.judge.choice import (
    PROVISIONAL,
    Choice,
    Rules,
    Standing,
    choose,
    loss_of,
    standings_of,
)
from pyopbench.judge.decision import Answer
from pyopbench.judge.program import even_mix
from shares import TODAY as NOW
from shares import candidate, contrasts_by_hand, spread

ONE_SIZE = even_mix((10,))
TODAY = "py_function_numpy"
T_3 = 2.3533634348
"""t(0.95) with the 3 degrees of freedom of four launches."""
RULES = Rules(0.03)


def t_of(many: int) -> float:
    """Return how many standard errors each of many labels may be off by, with 3 degrees of freedom (Sidak)."""
    return float(scipy_stats.t.ppf(0.95 ** (1 / many), 3))


def chosen(
    shares: Mapping[str, Sequence[float]],
    efforts: Mapping[str, float] | None = None,
    rules: Rules = RULES,
) -> Choice:
    """Choose among labels at one size, of which the shares by launch are given; the usual effort is 1."""
    contrasts = contrasts_by_hand({label: {10: values} for label, values in shares.items()})
    given = [candidate(contrasts, label, (efforts or {}).get(label, 1.0)) for label in shares]
    return choose(given, contrasts, ONE_SIZE, rules)


def exactly(share: float) -> list[float]:
    return [share] * 4


# What a candidate saves


def test_a_gain_is_a_share_of_todays_time_whose_interval_is_corrected_for_the_candidates() -> None:
    """By hand: a share of 0.5 with the error 0.005; t(1 - 0.025 / 2, 3) = 4.17653 for two candidates."""
    choice = chosen({"native": spread(0.5, 0.005), "xla": exactly(1.1)})
    assert choice.answer == Answer("port", "native")
    gain = choice.gain
    assert gain is not None
    assert gain.saved == pytest.approx(0.5)
    assert (gain.saved_low, gain.saved_high) == pytest.approx((0.5 - 4.17653 * 0.005, 0.5 + 4.17653 * 0.005), rel=1e-6)
    assert gain.times == pytest.approx((2, 1 / (1 - gain.saved_low), 1 / (1 - gain.saved_high)))


@pytest.mark.parametrize(("left", "times"), [(0.5, 2.0), (2.0, 0.5), (0.0, math.inf), (-0.01, math.inf)])
def test_what_saves_all_of_the_time_is_infinitely_faster(left: float, times: float) -> None:
    """In a graph a cost may come out at nothing or below: "0.0 +- 1.5 us" is a number."""
    gain = chosen({"native": exactly(left)}).gain
    assert gain is not None
    assert gain.times[0] == pytest.approx(times)


def test_the_gain_over_a_mix_is_of_the_time_and_not_of_the_ratios() -> None:
    """By hand: half the time at each size, half of it left at one and twice at the other: 1.25 of today's is left."""
    contrasts = contrasts_by_hand({"native": {10: exactly(0.5), 100: exactly(2.0)}})
    gain = choose([candidate(contrasts, "native")], contrasts, even_mix((10, 100)), RULES).gain
    assert gain is not None
    assert gain.saved == pytest.approx(-0.25)
    assert gain.times[0] == pytest.approx(1 / 1.25)


def test_a_candidate_without_some_size_is_none_for_the_mix() -> None:
    contrasts = contrasts_by_hand({"native": {10: exactly(0.4)}, "xla": {10: exactly(0.6), 100: exactly(0.6)}})
    lacking, whole = candidate(contrasts, "native"), candidate(contrasts, "xla")
    over_both = choose([lacking, whole], contrasts, even_mix((10, 100)), RULES)
    assert [gain.label for gain in over_both.gains] == ["xla"]
    assert [one.label for one in over_both.standings] == ["xla", NOW]
    assert choose([lacking, whole], contrasts, even_mix((10,)), RULES).label == "native"


# How the labels stand to the best of them


def test_standings_by_hand() -> None:
    """Of two candidates that are all there is: b costs 2 points more than a, with the error of 1 point.

    The one-sided 95% quantile of one difference is that of t. So b can be off by 2.35 points and may be the best; it
    costs at the most 2 + 2.35 points more than a, and a at the most 2.35 - 2 more than b.
    """
    contrasts = contrasts_by_hand({"a": {10: exactly(0.10)}, "b": {10: spread(0.12, 0.01)}})
    given = [candidate(contrasts, "a", 4), candidate(contrasts, "b", 2)]
    a, b = standings_of(given, contrasts, ONE_SIZE, keep=False)
    assert (a.label, a.effort, b.label, b.effort) == ("a", 4, "b", 2)
    assert (a.share, a.lag, a.reach, b.share, b.lag) == pytest.approx((0.10, 0.0, 0.0, 0.12, 0.02))
    assert b.reach == pytest.approx(T_3 * 0.01)
    losses = [loss_of(label, "ab", contrasts, ONE_SIZE) for label in "ab"]
    assert losses == pytest.approx([T_3 * 0.01 - 0.02, 0.02 + T_3 * 0.01])
    assert b.lag <= b.reach


def test_the_current_callback_stands_among_them_if_it_can_be_kept() -> None:
    """It takes less work than anything else; with three labels each is compared with two."""
    contrasts = contrasts_by_hand({"a": {10: exactly(0.10)}, "b": {10: spread(0.12, 0.01)}})
    given = [candidate(contrasts, "a", 0), candidate(contrasts, "b", 0)]
    kept = {one.label: one for one in standings_of(given, contrasts, ONE_SIZE, keep=True)}
    assert list(kept) == ["a", "b", NOW]
    assert kept[NOW].effort < 0
    assert (kept[NOW].share, kept[NOW].lag) == pytest.approx((1.0, 0.9))
    assert kept[NOW].lag > kept[NOW].reach
    assert kept["b"].reach == pytest.approx(t_of(2) * 0.01)


def test_what_the_data_cannot_tell_apart_is_told_by_the_difference_and_not_by_each() -> None:
    """Both vary fourfold from launch to launch, and the difference of the two hardly at all."""
    slow = [0.50, 0.125, 0.25, 0.40]
    choice = chosen({"slow": slow, "fast": [one - 0.08 for one in slow]}, {"slow": 1, "fast": 9})
    standings = {one.label: one for one in choice.standings}
    assert standings["slow"].lag == pytest.approx(0.08)
    assert standings["slow"].reach == pytest.approx(0.0, abs=1e-12)
    assert choice.label == "fast"


# The rule of choice


def test_of_what_is_as_good_the_least_effort_is_chosen() -> None:
    """2 points of today's time are less than is worth acting on, 4 are more, however much slower that is as a ratio."""
    efforts = {"best": 4, "near": 2, "far": 1}
    assert chosen({"best": exactly(0.01), "near": exactly(0.03)}, efforts).label == "near"
    assert chosen({"best": exactly(0.01), "far": exactly(0.05)}, efforts).label == "best"
    all_three = chosen({"best": exactly(0.01), "near": exactly(0.03), "far": exactly(0.05)}, efforts)
    assert (all_three.label, all_three.as_good) == ("near", ("best",))


@pytest.mark.parametrize(
    ("lag", "error", "named"),
    [
        (0.05, 0.0, "best"),  # 5 points more, for sure
        (0.05, 0.021, "easy"),  # 5 points, of which a standard error is more than 2
        (0.05, 0.019, "best"),  # 5 points, of which it is less
        (0.07, 0.05, "best"),  # above twice the minimum effect, whatever the data can tell
    ],
)
def test_what_cannot_be_told_from_the_best_is_as_good_up_to_twice_the_minimum_effect(
    lag: float, error: float, named: str
) -> None:
    """By hand: as good within 3 points and a standard error, which counts for at most 3 more."""
    shares = {"best": exactly(0.10), "easy": spread(0.10 + lag, error)}
    choice = chosen(shares, {"best": 4, "easy": 2})
    easy = next(one for one in choice.standings if one.label == "easy")
    assert easy.is_as_good(RULES) == (lag <= 0.03 + min(error, 0.03))
    assert choice.label == named


@pytest.mark.parametrize(
    ("best", "easy", "named"),
    [
        (0.50, 0.59, "easy"),  # 18% longer than the best
        (0.50, 0.61, "best"),  # 22%
        (0.05, 0.07, "easy"),  # 40%, but less than the minimum effect
        (0.85, 0.99, "best"),  # 16% longer; but it saves nothing
    ],
)
def test_what_takes_little_longer_than_the_best_may_be_alike_among_changes(
    best: float, easy: float, named: str
) -> None:
    choice = chosen({"best": exactly(best), "easy": exactly(easy)}, {"best": 4, "easy": 2}, replace(RULES, alike=0.2))
    assert choice.label == named
    assert choice.as_good == (() if named == "best" else ("best",))


@pytest.mark.parametrize(
    ("effort", "share", "is_as_good"), [(0, 0.97, True), (-1, 0.97, False), (0, 0.98, False), (-1, 0.87, True)]
)
def test_alike_is_a_change_of_any_effort_that_saves_the_minimum_effect(
    effort: float, share: float, is_as_good: bool
) -> None:
    standing = Standing("easy", effort, share, share - 0.85, 0.0, 0.0, 0.85)
    assert standing.is_as_good(replace(RULES, alike=0.2)) == is_as_good
    assert standing.is_as_good(RULES) == (share == 0.87)


def test_of_equal_effort_the_smaller_share_is_chosen_whatever_the_order() -> None:
    shares = {"alpha": exactly(0.11), "beta": exactly(0.10)}
    assert chosen(shares).label == chosen(dict(reversed(shares.items()))).label == "beta"
    equal = {"beta": exactly(0.10), "alpha": exactly(0.10)}
    assert chosen(equal).label == "alpha"


def test_as_good_are_the_other_candidates_that_save_as_much_the_least_effort_first() -> None:
    shares = {name: exactly(share) for name, share in (("c", 0.10), ("b", 0.11), ("a", 0.12), ("slow", 0.2))}
    choice = chosen(shares, {"a": 1, "b": 3, "c": 3})
    assert (choice.label, choice.as_good) == ("a", ("b", "c"))
    assert chosen({"native": exactly(1.2)}).as_good == (), "nothing is as good as an answer that is none"


def test_the_preferred_one_is_left_only_for_what_is_better_by_more_than_counts() -> None:
    efforts, stay = {"native": 4, "traced": 2}, replace(RULES, preferred="native")
    near = {"native": exactly(0.12), "traced": exactly(0.10)}
    assert (chosen(near, efforts, stay).label, chosen(near, efforts).label) == ("native", "traced")
    assert chosen({"native": exactly(0.15), "traced": exactly(0.10)}, efforts, stay).label == "traced"
    assert chosen({"native": exactly(1.1), "traced": exactly(0.10)}, efforts, stay).label == "traced"


# What has to be clear before anything is changed


def test_nothing_worth_it_is_keep() -> None:
    choice = chosen({"native": exactly(2.0), "xla": spread(1.0, 0.001)})
    assert (choice.action, choice.label, choice.is_provisional) == ("keep", None, False)
    assert choice.gain is not None
    assert choice.gain.label == "xla", "the best of them, for the reason"


@pytest.mark.parametrize(
    ("shares", "rules", "answer"),
    [
        (exactly(0.98), RULES, Answer("keep", None)),  # less than is worth acting on
        (exactly(0.96), RULES, Answer("port", "native")),
        # 8 points saved, 5 above the least; by hand t(0.975, 3) = 3.182 errors of 1.5 points are 4.8, of 1.6 are 5.1.
        (spread(0.92, 0.015), RULES, Answer("port", "native")),
        (spread(0.92, 0.016), RULES, Answer("undecided", None)),
        # 15 points are 18% of 85, and more than the minimum effect: today is not kept for being alike.
        (exactly(0.85), replace(RULES, alike=0.2), Answer("port", "native")),
        ([0.1], replace(RULES, must_change=True), Answer("undecided", None)),
    ],
)
def test_a_change_has_to_save_clearly_more_than_the_minimum_effect(
    shares: list[float], rules: Rules, answer: Answer
) -> None:
    assert chosen({"native": shares}, rules=rules).answer == answer


def test_a_candidate_that_is_not_sure_to_save_gives_way_to_one_that_is() -> None:
    """The uncertain one takes less work and is as good by its centre, and is passed over."""
    sure, unsure = exactly(0.92), spread(0.92, 0.03)
    assert chosen({"sure": sure, "unsure": unsure}, {"sure": 9, "unsure": 1}).label == "sure"


def test_keep_may_not_cost_more_than_is_provisional() -> None:
    """A candidate that may save nothing or very much leaves the choice undecided, and one that saves little does not.

    4 points saved, which today lags behind: as good, because it may be 2. At 3 degrees of freedom the bound is
    0.04 + 2.353 errors.
    """
    little, much = chosen({"native": spread(0.96, 0.02)}), chosen({"native": spread(0.96, 0.03)})
    assert little.loss == pytest.approx(0.04 + T_3 * 0.02)
    assert (little.action, little.is_provisional) == ("keep", False)
    assert 0.04 + T_3 * 0.03 > PROVISIONAL
    assert (much.action, much.loss, much.is_provisional) == ("undecided", None, False)


def test_keep_may_cost_what_is_not_worth_acting_on() -> None:
    """Who asks for 30% has an answer where 17% may be saved at the most, and not a question."""
    choice = chosen({"native": spread(0.85, 0.01)}, rules=Rules(0.3))
    assert choice.loss == pytest.approx(0.15 + T_3 * 0.01)
    assert (choice.action, choice.is_provisional) == ("keep", False)


def test_the_loss_of_an_answer_is_the_most_that_it_may_cost_against_any_other() -> None:
    """By hand: the chosen one lags 1 point behind one, and is 20 points ahead of one that is hardly known."""
    shares = {"best": exactly(0.60), "easy": exactly(0.61), "wild": spread(0.81, 0.2)}
    choice = chosen(shares, {"best": 4, "easy": 2, "wild": 9})
    assert choice.label == "easy"
    bound = -0.20 + t_of(3) * 0.2
    assert bound > 0.01
    assert choice.loss == pytest.approx(bound)
    assert choice.is_provisional
    sure = chosen({name: shares[name] for name in ("best", "easy")}, {"best": 4, "easy": 2})
    assert (sure.loss, sure.is_provisional) == (pytest.approx(0.01), False)


def test_no_answer_costs_more_than_the_time_that_it_leaves() -> None:
    """What takes 11% of the current time costs at most 11% of it, however little is known of another variant."""
    shares = {"best": exactly(0.10), "easy": exactly(0.11), "wild": spread(0.31, 0.9)}
    assert chosen(shares, {"best": 4, "easy": 2, "wild": 9}).loss == pytest.approx(0.11)


def test_one_launch_is_undecided_however_large_the_gain() -> None:
    choice = chosen({"native": [0.02]})
    assert (choice.action, choice.loss, choice.is_provisional) == ("undecided", None, False)
    assert choice.gain is not None
    assert choice.gain.saved == pytest.approx(0.98)
    assert math.isnan(choice.gain.saved_low)
    assert choice.open == choice.gains


# A callback that cannot stay


def test_where_today_cannot_stay_the_least_effort_of_the_best_is_taken_though_it_costs_more() -> None:
    shares = {"native": exactly(2.00), "traced": exactly(2.02), "xla": exactly(3.0)}
    efforts = {"native": 3, "traced": 2, "xla": 1}
    free, bound = (chosen(shares, efforts, replace(RULES, must_change=must)) for must in (False, True))
    assert free.action == "keep"
    assert bound.answer == Answer("port", "traced")
    assert NOW not in {one.label for one in bound.standings}
    assert bound.loss == pytest.approx(0.02), "against the best of what can be had"


# How often it is wrong


def test_a_port_that_is_not_worth_it_is_rarely_advised() -> None:
    """Four candidates exactly at the threshold, where the error is largest: at most 5% of runs advise one of them."""
    rng = np.random.default_rng(2)
    mix, runs = even_mix((10, 100)), 300
    advised = 0
    for shares in 0.97 + 0.02 * rng.standard_normal((runs, 4, 2, 4)):
        by_size = {f"c{place}": {10: list(one[0]), 100: list(one[1])} for place, one in enumerate(shares)}
        contrasts = contrasts_by_hand(by_size)
        given = [candidate(contrasts, label, place) for place, label in enumerate(by_size)]
        advised += choose(given, contrasts, mix, RULES).action == "port"
    assert advised <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)


@pytest.mark.nightly
def test_the_loss_of_what_is_named_is_seldom_above_its_bound() -> None:
    """Five candidates of known cost, as far apart as they scatter: the bound holds in at least 95% of 300 runs."""
    rng = np.random.default_rng(3)
    true = np.array([0.10, 0.11, 0.12, 0.13, 0.16])
    above = 0
    for _ in range(300):
        order = rng.permutation(5)
        shares = true[order][:, None] + 0.02 * rng.standard_normal((5, 4))
        choice = chosen({f"c{place}": list(one) for place, one in enumerate(shares)}, {"c0": 0, "c1": 0, "c2": 1})
        assert choice.label is not None
        assert choice.loss is not None
        above += true[order][int(choice.label[1:])] - true.min() > choice.loss
    assert above <= 300 * 0.05 + 3 * math.sqrt(300 * 0.05 * 0.95)

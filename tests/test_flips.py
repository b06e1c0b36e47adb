"""What would change a decision: every sentence is tried by doing what it says."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from pyopbench.candidates import Candidate
from pyopbench.choice import Choice, Rules, choose
from pyopbench.flips import break_even_share, flips, settling
from pyopbench.mix import Mix, calls_mix, even_mix

SIZES = (10, 100, 1000)
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


def first_number(sentence: str) -> float:
    found = re.search(r"[\d.]+", sentence)
    assert found is not None
    return float(found.group())


def test_the_break_even_share_by_hand() -> None:
    """Half the speed at one size and twice the speed at the rest: p * 2 + (1 - p) * 0.5 = 1 at p = 1/3."""
    apart = np.array([True, False, False])
    share = break_even_share(np.array([2.0, 0.5, 0.5]), np.array([0.2, 0.4, 0.4]), apart, 1.0)
    assert share == pytest.approx(1 / 3)


def test_a_port_stops_paying_at_the_share_that_is_told() -> None:
    native = candidate("native", 0.5, 0.6, 2.0, noise=0.01)
    mix = mix_with([0.4, 0.4, 0.2])
    choice = choose_over(mix, native)
    assert choice.answer == "port to native"
    speed, share = flips(choice, mix, "py_func")
    told = first_number(share) / 100
    assert "(it is 20% in this mix) spent at size 1k, where native does not pay" in share
    for far, answer in ((told - 0.02, "port to native"), (told + 0.02, "keep")):
        assert choose_over(mix_with([(1 - far) / 2, (1 - far) / 2, far]), native).answer == answer
    assert speed.startswith("py_func at ")


def test_a_port_stops_being_clear_when_today_is_as_much_faster_as_is_told() -> None:
    mix = even_mix(SIZES)
    speed = first_number(flips(choose_over(mix, candidate("native", 0.5, 0.5, 0.5)), mix, "today")[0])
    for factor, label in ((speed * 0.99, "native"), (speed * 1.01, None)):
        ratio = 0.5 * factor
        assert choose_over(mix, candidate("native", ratio, ratio, ratio)).label == label


def test_a_port_that_pays_everywhere_has_no_share_at_which_it_does_not() -> None:
    mix = even_mix(SIZES)
    assert len(flips(choose_over(mix, candidate("native", 0.5, 0.6, 0.7)), mix, "py_func")) == 1


def test_keep_tells_how_much_slower_today_would_have_to_be() -> None:
    mix = even_mix(SIZES)
    choice = choose_over(mix, candidate("native", 1.5, 1.5, 1.5))
    assert choice.action == "keep"
    sentence = next(one for one in flips(choice, mix, "today") if one.startswith("today taking"))
    factor = first_number(sentence)
    for actual, label in ((factor * 0.99, None), (factor * 1.01, "native")):
        ratio = 1.5 / actual
        assert choose_over(mix, candidate("native", ratio, ratio, ratio)).label == label


def test_keep_tells_at_which_share_the_nearest_candidate_would_pay() -> None:
    native, xla = candidate("native", 0.5, 2.0, 2.0, noise=0.01), candidate("xla", 0.9, 5.0, 5.0, noise=0.01)
    mix = even_mix(SIZES)
    choice = choose_over(mix, native, xla)
    assert choice.action == "keep"
    sentence = flips(choice, mix, "py_func")[-1]
    assert "spent at size 10, where native pays" in sentence
    told = first_number(sentence) / 100
    for share, answer in ((told - 0.02, "keep"), (told + 0.02, "port to native")):
        assert choose_over(mix_with([share, (1 - share) / 2, (1 - share) / 2]), native, xla).answer == answer


def test_undecided_tells_the_launches_that_would_settle_it() -> None:
    """With the mean and spread of three launches repeated often enough, the interval is clear."""
    wide = candidate("native", 0.9, 0.9, 0.9, noise=20)
    mix = even_mix(SIZES)
    choice = choose_over(mix, wide)
    assert choice.action == "undecided"
    (sentence,) = flips(choice, mix, "py_func")
    assert sentence == settling(choice)
    assert "(native is the one to watch)" in sentence
    assert 3 < first_number(sentence) < 100


def test_undecided_watches_the_soonest_of_those_above_and_the_last_of_those_below() -> None:
    mix = even_mix(SIZES)
    sooner, later = candidate("sooner", 0.85, 0.85, 0.85, noise=20), candidate("later", 0.93, 0.93, 0.93, noise=20)
    assert "(sooner is" in settling(choose_over(mix, sooner, later))
    below, nearer = candidate("below", 1.1, 1.1, 1.1, noise=30), candidate("nearer", 1.02, 1.02, 1.02, noise=30)
    assert "(nearer is" in settling(choose_over(mix, below, nearer))


def test_one_launch_asks_for_another() -> None:
    mix = even_mix((10,))
    choice = choose_over(mix, Candidate("native", "port", 1, pd.DataFrame({10: [-1.0]})))
    assert flips(choice, mix, "py_func") == ("a second launch: one launch gives no interval",)


def test_without_candidates_anything_would_help() -> None:
    mix = even_mix(SIZES)
    assert flips(choose_over(mix), mix, "py_func") == ("a measurement of another variant wherever py_func has one",)

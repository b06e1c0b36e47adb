"""Looks that were held are charged for, and each has its share of the error."""

from __future__ import annotations

import pytest

from pyopbench.stats.looks import MOST_LOOKS, ONE_LOOK, Looks


@pytest.mark.parametrize(("held", "charged"), [(0, 1), (1, 2), (2, 3), (40, MOST_LOOKS)])
def test_only_looks_that_were_held_are_charged_for(held: int, charged: int) -> None:
    """A look that was planned and not held has cost nothing: time ended the run, and not the data."""
    assert Looks.of({"launches": 8, "first_look": 3}, held) == Looks(charged)


def test_a_run_that_could_not_be_looked_at_is_looked_at_once() -> None:
    assert Looks.of({"launches": 8}, 0) == Looks.of({"launches": 8}, 3) == ONE_LOOK


def test_each_look_has_an_equal_share_of_the_error() -> None:
    """By hand: 5% over 10 verdicts and 5 looks is 0.1% each, and a p of 0.1% counts as 0.5%."""
    assert Looks(5).share(0.05, 10) == pytest.approx(0.001)
    assert Looks(5).spent(0.001) == pytest.approx(0.005)
    assert (ONE_LOOK.share(0.05, 10), ONE_LOOK.spent(0.2)) == (0.005, 0.2)

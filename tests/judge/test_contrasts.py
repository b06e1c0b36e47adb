"""Differences of what labels cost: taken within rounds, by launch, with what the model says of their spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from pyopbench.judge.contrasts import Contrasts, contrasts_of
from pyopbench.judge.program import even_mix
from pyopbench.stats.estimate import OWN, Spread
from shares import TODAY, contrasts_by_hand


def measured(
    ratios: Mapping[tuple[str, int], Sequence[float]], launch: int = 0, run: str = "first", tool: str = "pyopbench"
) -> pd.DataFrame:
    """Return the ratios of labels at sizes, by round, of one launch; nan is a round without the label."""
    rows = [
        (tool, run, launch, label, size, place, value)
        for (label, size), values in ratios.items()
        for place, value in enumerate(values)
        if not math.isnan(value)
    ]
    return pd.DataFrame(rows, columns=["tool", "run", "launch", "label", "size", "round", "ratio"])


def made(*launches: pd.DataFrame, ports: Sequence[str] = (), spread: Spread = OWN) -> Contrasts:
    return contrasts_of(pd.concat(launches, ignore_index=True), TODAY, frozenset(ports), spread)


A, B = [0.1, 0.5, 0.9], [0.5, 0.1, 0.8]


def test_a_difference_is_the_median_of_those_within_rounds() -> None:
    """By hand: within rounds -0.4, 0.4 and 0.1; the medians of both are 0.5."""
    found = made(measured({("a", 10): A, ("b", 10): B}))
    assert found.labels == (TODAY, "a", "b")
    assert found.over(even_mix((10,)), "a", "b").mean == pytest.approx(0.1)
    assert found.over(even_mix((10,)), "b", "a").mean == pytest.approx(-0.1)
    assert found.over(even_mix((10,)), "a", TODAY).mean == pytest.approx(0.5 - 1)
    assert found.over(even_mix((10,)), "b", TODAY).mean == pytest.approx(0.5 - 1)


def test_a_launch_counts_by_the_error_of_its_median_over_rounds() -> None:
    """By hand: -0.4, 0.1, 0.4 are 0.5, 0 and 0.3 off their median; 1.4826 * 0.3 * sqrt(pi / 2) / sqrt(3)."""
    found = made(*(measured({("a", 10): A, ("b", 10): B}, launch) for launch in (0, 1)), spread=Spread(0.0, 4.0))
    error = 1.4826 * 0.3 * math.sqrt(math.pi / 2) / math.sqrt(3)
    assert found.over(even_mix((10,)), "a", "b").spread == pytest.approx(math.sqrt(4 / 5) * error)


def test_a_round_counts_for_the_labels_that_it_has() -> None:
    """Without the first round the differences are 0.4 and 0.1; a by itself is timed in all three."""
    found = made(measured({("a", 10): A, ("b", 10): [math.nan, 0.1, 0.8]}))
    assert found.over(even_mix((10,)), "a", "b").mean == pytest.approx(0.25)
    assert found.over(even_mix((10,)), "a", TODAY).mean == pytest.approx(0.5 - 1)


def test_a_label_without_a_number_at_a_size_lacks_it() -> None:
    found = made(measured({("a", 10): A, ("b", 100): B}))
    assert (found.lacks(even_mix((10, 100)), "a"), found.lacks(even_mix((10, 1000)), "b")) == ((100,), (10, 1000))


def test_a_difference_within_rounds_varies_by_less_than_that_of_medians() -> None:
    """What slows a round down for both cancels: here noise of 20% in common, and of 2% each."""
    rng = np.random.default_rng(1)
    common = 0.5 * np.exp(0.2 * rng.standard_normal((400, 9)))
    a, b = (common * np.exp(0.02 * rng.standard_normal((400, 9))) for _ in range(2))
    launches = [measured({("a", 10): a[place], ("b", 10): b[place]}, place) for place in range(400)]
    within = made(*launches).over(even_mix((10,)), "a", "b").spread
    assert within < 0.5 * (np.median(a, axis=1) - np.median(b, axis=1)).std()


def test_each_tool_run_and_launch_is_one_launch() -> None:
    one = {("a", 10): [0.5]}
    found = made(measured(one), measured(one, 1), measured(one, run="second"), measured(one, run="second", tool="asv"))
    assert found.over(even_mix((10,)), "a", TODAY).n == 4


def test_over_a_mix_the_sizes_count_by_todays_time() -> None:
    """By hand: a quarter of the time at each end and half between; launches without a size are none."""
    whole = measured({("a", 10): [0.2], ("a", 100): [0.4], ("a", 1000): [0.8]})
    half = measured({("a", 10): [9.0], ("a", 100): [9.0]}, 1)
    found = made(whole, half).over(even_mix((10, 100, 1000)), "a", TODAY)
    assert (found.n, found.mean) == (1, pytest.approx(0.05 + 0.2 + 0.2 - 1))


FOUR = {10: [0.2] * 4}
MOVED = 4 / 7
"""What is left of the usual variance where four launches are alike: 4 of 4 + 3 degrees of freedom."""


def test_the_usual_variance_of_a_difference_counts_today_once() -> None:
    """Shares a / t and b / t, where a, b and t each vary by v / 2: (a^2 + b^2 + (a - b)^2) v / 2; simulated."""
    share, other, variance = 0.5, 0.2, 1e-4
    found = contrasts_by_hand({"a": {10: [share] * 4}, "b": {10: [other] * 4}}, spread=Spread(variance))
    usual = found.over(even_mix((10,)), "a", "b").spread ** 2 / MOVED
    today, of_a, of_b = np.exp(math.sqrt(variance / 2) * np.random.default_rng(5).standard_normal((3, 100_000)))
    assert usual == pytest.approx(np.var((share * of_a - other * of_b) / today), rel=0.02)
    for pair in (("a", TODAY), (TODAY, "a")):
        assert found.over(even_mix((10,)), *pair).spread ** 2 == pytest.approx(MOVED * variance * share**2)


@pytest.mark.parametrize(
    ("pair", "moved"),
    [
        (("port", TODAY), 0.2),
        ((TODAY, "port"), 0.2),
        (("port", "other"), 0.2 - 0.5),
        (("port", "callback"), 0.2),
        (("callback", TODAY), 0.0),
    ],
)
def test_ports_shift_against_callbacks_from_run_to_run_and_with_one_another(
    pair: tuple[str, str], moved: float
) -> None:
    shares = {"port": FOUR, "other": {10: [0.5] * 4}, "callback": {10: [0.7] * 4}}
    found = contrasts_by_hand(shares, ["port", "other"]).over(even_mix((10,)), *pair)
    assert found.shared == pytest.approx((0.04 * moved) ** 2)

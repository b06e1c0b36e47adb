"""What an op costs in a round, worked out by hand: in a call, and as a copy in a graph beyond the empty function."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from frames import Bench
from pyopbench.stats import costs

UNIT = ["launch"]
NAN = math.nan


def blocks(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return blocks; where a row does not say, a call of one copy of the case `a` in mode node, round 0, launch 0."""
    usual = {"case": "a", "launch": 0, "round": 0, "mode": "node", "calls": 1, "copies": 1, "floor_seconds": NAN}
    return pd.DataFrame([{**usual, **row} for row in rows])


def cost(*rows: dict[str, Any]) -> list[float]:
    """Return the costs of the case `a`, by launch and round."""
    found = costs.round_costs(blocks(*rows), UNIT).sort_values(["launch", "round"])
    assert list(found.columns) == ["case", "launch", "round", "seconds"]
    return [float(seconds) for seconds in found[found["case"] == "a"]["seconds"]]


def call(seconds: float, calls: int = 1, **fields: Any) -> dict[str, Any]:
    return {"mode": "call", "seconds": seconds, "calls": calls, **fields}


def graph(copies: int, seconds: float, floor: float = NAN, **fields: Any) -> dict[str, Any]:
    return {"copies": copies, "seconds": seconds, "floor_seconds": floor, **fields}


# A round


@pytest.mark.parametrize(
    ("rows", "costs_by_hand"),
    [
        ([call(12.0, calls=4), call(10.0, calls=2, round=1)], [3.0, 5.0]),
        ([call(1.0), call(2.0), call(9.0)], [2.0]),  # a group that was measured again in the same rounds
        ([call(0.0), call(2.0, round=1)], [2.0]),  # what took no longer than the clock has no cost
        # Two calls of eight copies in 36 s are 18 a call, 16 more than the empty function, 2 a copy.
        ([graph(8, 36.0, floor=2.0, calls=2)], [2.0]),
        # The first copy tells what a callback costs, however long it takes: 15 - 10 beside four of a mean of 3.5.
        ([graph(1, 15.0, floor=10.0), graph(4, 24.0, floor=10.0)], [5.0]),
        ([graph(1, 10.5, floor=10.0), graph(4, 24.0, floor=10.0)], [0.5]),
        # An op that costs next to nothing is sometimes faster than nothing: its mean is what is asked for.
        ([graph(4, 9.0, floor=10.0), graph(4, 11.0, floor=10.0, round=1)], [-0.25, 0.25]),
        ([graph(2, 18.0, floor=10.0), graph(4, 24.0, floor=10.0)], [3.5]),  # of several graphs the largest
        ([graph(4, 24.0)], []),  # without the empty function there is no cost in a graph
        ([graph(1, 7.0)], []),  # a body alone is a call though its mode is node
        # A round that lacks the graph that counts has no cost.
        ([graph(4, 24.0, floor=4.0), graph(2, 9.0, floor=4.0, round=1)], [5.0]),
        # The largest graph is that of a launch: another worker may have taken fewer copies.
        ([graph(4, 30.0, floor=10.0), graph(2, 22.0, floor=10.0, launch=1)], [5.0, 6.0]),
    ],
)
def test_what_a_round_costs(rows: list[dict[str, Any]], costs_by_hand: list[float]) -> None:
    assert cost(*rows) == costs_by_hand


def test_modes_beside_each_other_keep_their_numbers() -> None:
    both = blocks(call(3.0), graph(8, 36.0, floor=4.0, case="b"))
    found = costs.round_costs(both, UNIT).set_index("case")["seconds"].to_dict()
    assert found == {"a": 3.0, "b": 4.0}


# Ratios to the current callback


def ratios(*rows: tuple[str, int, float]) -> dict[tuple[str, int], float]:
    """Return the ratios to `today` by case and round, of (case, round, cost)."""
    frame = pd.DataFrame([(case, 0, place, seconds) for case, place, seconds in rows])
    frame.columns = pd.Index(["case", "launch", "round", "seconds"])
    found = costs.ratios(frame, {"a": "today", "b": "today"}, UNIT)
    return {(row.case, row.round): row.ratio for row in found.itertuples()}


def test_a_ratio_is_taken_within_a_round() -> None:
    """By hand: 1 of 4, and 8 of 4; a round in which one of both is missing counts for nothing."""
    rows = [("today", 0, 4.0), ("a", 0, 1.0), ("b", 0, 8.0), ("today", 1, 2.0), ("b", 2, 8.0)]
    assert ratios(*rows) == {("a", 0): 0.25, ("b", 0): 2.0}


def test_a_ratio_below_zero_is_a_number_and_one_to_nothing_is_none() -> None:
    assert ratios(("today", 0, 4.0), ("a", 0, -1.0)) == {("a", 0): -0.25}
    assert ratios(("today", 0, 0.0), ("a", 0, 1.0)) == {}
    assert ratios(("today", 0, -4.0), ("a", 0, 1.0)) == {}


@pytest.mark.parametrize("rounds", [1, 4, 5, 8, 9])
@pytest.mark.parametrize("seed", range(4))
def test_a_launch_is_the_share_at_which_as_many_rounds_are_above_as_below_next_to_that_of_medians(
    rounds: int, seed: int
) -> None:
    """By counting at every place; noise makes the callback cost less than nothing in some rounds."""
    rng = np.random.default_rng([rounds, seed])
    today, cost = rng.normal(1.5, 1.2, rounds), rng.normal(0.8, 0.5, rounds)
    level = float(np.median(today))
    found = ratios(*(("today", *one) for one in enumerate(today)), *(("a", *one) for one in enumerate(cost)))
    turns = sorted(cost / today)
    between = [turns[0] - 1, *((low + high) / 2 for low, high in pairwise(turns)), turns[-1] + 1]
    above = [int(np.sign(cost - share * today).sum()) for share in between]
    crossed = [turn for turn, (before, after) in zip(turns, pairwise(above), strict=True) if before > 0 > after]
    crossed += [at for at, (before, here) in zip(between[1:-1], pairwise(above), strict=False) if before > 0 == here]
    if level <= 0 or not crossed:
        assert found == {}
        return
    share = min(crossed, key=lambda one: abs(one - np.median(cost) / level))
    off = cost - share * today
    expected = share + (off - np.median(off)) / level
    assert [found["a", place] for place in range(rounds)] == pytest.approx(list(expected))


@pytest.mark.parametrize("true", [0.02, 0.5, 1.0, 2.0])
def test_noise_that_hides_what_today_costs_leaves_the_ratio_where_it_is(true: float) -> None:
    """Costs of rounds vary by as much as today's, so that one in six is below zero; floors are common to both."""
    rng, rounds = np.random.default_rng(4), 4_001
    floor = rng.normal(0.0, 0.5, rounds)
    today, cost = (level + floor + rng.normal(0.0, 0.8, rounds) for level in (1.0, true))
    frame = pd.DataFrame(
        {
            "case": np.repeat(["today", "a"], rounds),
            "launch": 0,
            "round": np.tile(np.arange(rounds), 2),
            "seconds": np.concatenate([today, cost]),
        }
    )
    (row,) = costs.launch_medians(costs.ratios(frame, {"a": "today"}, UNIT), "ratio", UNIT).to_dict("records")
    assert abs(row["value"] - true) < 3 * row["error"]
    assert row["error"] < 0.06


def test_launches_are_not_paired_with_each_other() -> None:
    frame = pd.DataFrame([("today", 0, 0, 4.0), ("a", 1, 0, 1.0)], columns=["case", "launch", "round", "seconds"])
    assert costs.ratios(frame, {"a": "today"}, UNIT).empty


# A launch


VALUES = [5.0, 1.0, 2.0, 4.0, 100.0]


def test_a_launch_is_the_median_over_rounds_with_its_standard_error() -> None:
    """The median is 4 and the absolute deviations 1, 3, 2, 0, 96; SciPy has their median as a standard deviation."""
    frame = pd.DataFrame({"case": "a", "launch": 0, "value": VALUES})
    (row,) = costs.launch_medians(frame, "value", UNIT).to_dict("records")
    deviation = scipy_stats.median_abs_deviation(VALUES, scale="normal")
    assert (row["value"], row["rounds"]) == (4.0, 5)
    assert row["error"] == pytest.approx(deviation * math.sqrt(math.pi / 2) / math.sqrt(5), rel=1e-4)


def test_one_round_has_no_standard_error() -> None:
    frame = pd.DataFrame({"case": ["a", "b", "b"], "launch": 0, "value": [3.0, 1.0, 2.0]})
    found = costs.launch_medians(frame, "value", UNIT).set_index("case")
    assert math.isnan(found.loc["a", "error"])
    assert found.loc["b", "error"] > 0
    assert found["value"].tolist() == [3.0, 1.5]


def test_the_standard_error_is_how_far_medians_scatter() -> None:
    values = np.random.default_rng(0).standard_normal((4000, 41))
    frame = pd.DataFrame({"case": "a", "launch": np.repeat(np.arange(4000), 41), "value": values.ravel()})
    found = costs.launch_medians(frame, "value", ["launch"])
    assert found["error"].mean() == pytest.approx(found["value"].std(), rel=0.08)


def test_launches_of_few_rounds_have_the_noise_of_the_others_and_larger_errors() -> None:
    rounds = [*[(0, value) for value in (1.0, 1.0)], *[(1, value) for value in (1.0, 2.0, 3.0, 2.0, 5.0, 2.0)]]
    rounds += [(2, value) for value in (1.0, 2.0, 3.0, 2.5, 0.5, 2.0, 1.0, 3.0)] + [(3, 2.0)]
    frame = pd.DataFrame(rounds, columns=["launch", "value"]).assign(case="a")
    errors = costs.launch_medians(frame, "value", ["launch"])["error"].to_numpy()
    assert errors == pytest.approx(errors[3] / np.sqrt([2, 6, 8, 1]))
    assert math.isnan(costs.launch_medians(frame[frame["launch"] == 3], "value", ["launch"])["error"][0])


# Made-up runs of known cost


@pytest.mark.parametrize("true", [1e-4, 1e-6, 0.0])
def test_the_cost_of_an_op_is_found_below_a_call_that_takes_far_more(true: float) -> None:
    """The call takes 200 us and varies by 20% from round to round: what varies with it is taken off with it."""
    bench = Bench({"native": true}, sizes=(10,), mode="node", rounds=400, launches=1, between=0.0, drift=0.2)
    frame = bench.frame()
    assert set(frame["copies"]) == {8}
    (row,) = costs.launch_medians(costs.round_costs(frame, UNIT), "seconds", UNIT).to_dict("records")
    assert abs(row["value"] - true) < 4 * row["error"]
    assert row["error"] < 2e-6

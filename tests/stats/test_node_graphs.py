"""Lines through graphs of copies, and what the first copy costs beside the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from frames import Bench
from pyopbench.model.case import Case
from pyopbench.stats import estimate, node_graphs
from pyopbench.stats.node_graphs import surcharges

COPIES = (1, 2, 4, 8, 16, 32)
NATIVE = Case("sinh", "native", "none", "forward", "node", "float32", 1)

UNIT = ["launch"]


def blocks(
    costs: dict[str, tuple[float, float]], launches: int = 3, rounds: int = 4, noise: float = 0.0, seed: int = 0
) -> pd.DataFrame:
    """Return blocks of cases that cost `(seconds per copy, call overhead)`; `noise` is the spread of the log of one."""
    rng = np.random.default_rng(seed)
    calls = Bench(dict.fromkeys(costs, 1.0), sizes=(1,), mode="node", launches=launches, rounds=rounds).frame()
    frame = pd.concat([calls.assign(copies=copies) for copies in COPIES], ignore_index=True)
    each, overhead = (frame["variant"].map({name: cost[i] for name, cost in costs.items()}) for i in (0, 1))
    true = (overhead + each * frame["copies"]) * frame["calls"]
    return frame.assign(seconds=true * np.exp(noise * rng.standard_normal(len(frame))))


def test_slope_and_intercept_are_what_the_blocks_are_made_of() -> None:
    found = node_graphs.lines(blocks({"py_function_numpy": (2e-5, 1e-4), "native": (2e-7, 1.1e-4)}), estimate.UNIT)
    assert len(found) == 6
    assert set(found["copies"]) == {COPIES}
    native = found[found["case"] == NATIVE.id]
    np.testing.assert_allclose(native["slope"], 2e-7, rtol=1e-9)
    np.testing.assert_allclose(native["intercept"], 1.1e-4, rtol=1e-9)


def test_the_fit_is_weighted_least_squares_of_medians() -> None:
    """Against NumPy's polynomial fit, which takes weights as 1 / sigma."""
    frame = blocks({"native": (1e-5, 1e-4)}, launches=1, rounds=5, noise=0.3)
    medians = frame.assign(y=frame["seconds"] / frame["calls"]).groupby("copies")["y"].median()
    slope, intercept = np.polyfit(medians.index, medians, 1, w=1 / medians)
    (row,) = node_graphs.lines(frame, estimate.UNIT).to_dict("records")
    assert (row["slope"], row["intercept"]) == pytest.approx((slope, intercept), rel=1e-9)


def test_one_number_of_copies_gives_no_line() -> None:
    frame = blocks({"native": (1e-5, 1e-4)})
    one = frame[frame["copies"] == 4]
    assert node_graphs.lines(one, estimate.UNIT)[["slope", "intercept"]].isna().all(axis=None)
    assert set(node_graphs.lines(one, estimate.UNIT)["copies"]) == {(4,)}


def test_other_modes_are_passed_over() -> None:
    assert node_graphs.lines(Bench({"native": 1e-5}, sizes=(1,)).frame(), estimate.UNIT).empty


def test_a_line_may_fall() -> None:
    """What costs nothing falls in one launch and rises in another; its cost is told by differences, not by this."""
    frame = blocks({"native": (1e-5, 1e-4)}, launches=1)
    falling = (1e-3 - 1e-5 * frame["copies"]) * frame["calls"]
    (row,) = node_graphs.lines(frame.assign(seconds=falling), estimate.UNIT).to_dict("records")
    assert (row["slope"], row["intercept"]) == pytest.approx((-1e-5, 1e-3), rel=1e-9)


def graph(copies: int, seconds: float, floor: float = 10.0, **fields: Any) -> dict[str, Any]:
    """Return a block of one call of a graph; where nothing is said, of the case `a`, round 0, launch 0."""
    usual = {"case": "a", "launch": 0, "round": 0, "mode": "node", "calls": 1}
    return {**usual, "copies": copies, "seconds": seconds, "floor_seconds": floor, **fields}


def test_the_first_callback_of_a_step_and_each_further_one() -> None:
    """By hand: 15 - 10 for the first; (24 - 15) / 3 for the others; medians over rounds, means over launches.

    In the second launch 7 and 5. Two launches differ by 2: a standard error of 1, and of t with one degree 12.7062.
    """
    rows = [
        *(graph(copies, seconds, round=number) for number in (0, 1) for copies, seconds in ((1, 15.0), (4, 24.0))),
        *(graph(copies, seconds, round=2) for copies, seconds in ((1, 16.0), (4, 90.0))),
        *(graph(copies, seconds, launch=1) for copies, seconds in ((1, 17.0), (4, 32.0))),
    ]
    found = surcharges(pd.DataFrame(rows), UNIT)["a"]
    assert (found.first, found.further) == (pytest.approx(6.0), pytest.approx(4.0))
    assert (found.low, found.high) == (pytest.approx(4.0 - 12.7062, abs=1e-3), pytest.approx(4.0 + 12.7062, abs=1e-3))


def test_calls_of_a_block_share_its_seconds() -> None:
    rows = [graph(1, 30.0, calls=2), graph(2, 38.0, calls=2)]
    found = surcharges(pd.DataFrame(rows), UNIT)["a"]
    assert (found.first, found.further) == (pytest.approx(5.0), pytest.approx(4.0))
    assert math.isnan(found.low)


def test_without_a_graph_of_one_copy_and_a_larger_one_no_first_is_known() -> None:
    rows = [
        graph(4, 24.0),
        graph(1, 15.0, case="b"),
        *(graph(copies, 15.0, floor=math.nan, case="c") for copies in (1, 4)),
        *(graph(copies, 15.0, mode="call", case="d") for copies in (1, 4)),
        *(graph(copies, 15.0, case="e") for copies in (0, 1)),
    ]
    assert surcharges(pd.DataFrame(rows), UNIT) == {}


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Forty callbacks of 0.1 to 10 ms, three launches of 15 rounds, blocks that vary by 20% and launches by 5%."""
    rng = np.random.default_rng(0)
    held = []
    for _ in range(6):
        rows = []
        for case in range(40):
            first = 10 ** rng.uniform(-4, -2)
            for launch in range(3):
                further = 0.4 * first * rng.normal(1.0, 0.05)
                for number in range(15):
                    for copies, seconds in ((1, first), (2, first + further)):
                        noisy = 1e-4 + seconds * rng.normal(1.0, 0.2)
                        at = {"case": f"{case}/{first}", "launch": launch, "round": number}
                        rows.append(graph(copies, noisy, floor=1e-4, **at))
        found = surcharges(pd.DataFrame(rows), UNIT)
        held += [one.low <= 0.4 * float(case.split("/")[1]) <= one.high for case, one in found.items()]
    assert len(held) == 240
    assert 0.92 <= np.mean(held) <= 0.99
